/* SPDX-License-Identifier: MIT */
/* The answers that scan_trial.c knows, against the reference; and that none of them is taken for another. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plugin/scan/scan_trial.h"
#include "rankwatch/operation.h"
#include "scan_reference.h"

static _Alignas(16) unsigned char pattern[SCAN_TRIAL_BYTES];

static struct scan_result reference(uint32_t i)
{
	const struct scan_segment segment = scan_trial_segment(i, (uintptr_t)pattern);
	struct scan_result result;

	cr_assert(segment.address + segment.elements * reference_width(segment.dtype) <=
		  (uintptr_t)pattern + SCAN_TRIAL_BYTES);
	reference_scan(segment.dtype, segment.flags, (const void *)(uintptr_t)segment.address, segment.elements,
		       &result);
	return result;
}

static void setup(void)
{
	scan_trial_fill(pattern);
}

TestSuite(scan_trial, .init = setup);

Test(scan_trial, the_known_answers_are_those_of_the_reference)
{
	int wrong_rows = 0;

	for (uint32_t i = 0; i < SCAN_TRIAL_SEGMENTS; i++) {
		const struct scan_result r = reference(i);
		char wrong[SCAN_TRIAL_WORDS];

		if (scan_trial_is_right(i, &r, wrong))
			continue;
		fprintf(stderr,
			"row %" PRIu32 " ends: %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRId64 ", %af, 0x%016" PRIx64
			", 0x%016" PRIx64 "\n",
			i, r.nan, r.inf, r.saturated, (int64_t)r.first_bad, (double)r.absmax, r.digest, r.lane_sum);
		wrong_rows++;
	}
	cr_assert_eq(wrong_rows, 0);
}

/* What a kernel could do wrong without being noticed is not in the buffer. */
Test(scan_trial, every_floating_type_has_something_of_every_kind)
{
	uint32_t seen = 0;

	for (uint32_t i = 0; i < SCAN_TRIAL_SEGMENTS; i++) {
		const struct scan_segment segment = scan_trial_segment(i, (uintptr_t)pattern);
		const struct scan_result r = reference(i);

		if (segment.flags || !reference_is_float(segment.dtype) || segment.address % 16)
			continue;
		seen |= 1u << segment.dtype;
		cr_expect(r.nan >= 3 && r.first_bad < segment.elements);
		cr_expect(segment.dtype == RW_DTYPE_FLOAT8_E4M3 || r.inf >= 1);
		cr_expect(reference_width(segment.dtype) > 1 || r.saturated >= 2);
	}
	for (uint32_t i = 0; i < SCAN_DTYPES; i++)
		cr_expect(!reference_is_float(scan_dtypes[i]) || seen >> scan_dtypes[i] & 1, "type %d", scan_dtypes[i]);
}

static void expect_wrong(uint32_t i, struct scan_result result, const char *words)
{
	char wrong[SCAN_TRIAL_WORDS] = "";

	cr_expect_not(scan_trial_is_right(i, &result, wrong));
	cr_expect(strstr(wrong, words), "%s, not %s", wrong, words);
}

Test(scan_trial, every_field_that_differs_is_named)
{
	for (uint32_t i = 0; i < SCAN_TRIAL_SEGMENTS; i++) {
		const struct scan_result right = reference(i);
		struct scan_result result = right;
		char words[64];

		result.nan++;
		snprintf(words, sizeof(words), " NaN %" PRIu32 ", not %" PRIu32, right.nan + 1, right.nan);
		expect_wrong(i, result, words);
		result = right, result.inf--;
		expect_wrong(i, result, " Inf ");
		result = right, result.saturated++;
		expect_wrong(i, result, " saturated ");
		result = right, result.first_bad++;
		expect_wrong(i, result, " first bad ");
		result = right, result.digest ^= 1;
		expect_wrong(i, result, " digest");
		result = right, result.lane_sum ^= UINT64_C(1) << 63;
		expect_wrong(i, result, " lane sum");
		result = right, result.absmax++;
		if (result.absmax != right.absmax)
			expect_wrong(i, result, " largest value");
	}
}
