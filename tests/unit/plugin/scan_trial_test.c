/* SPDX-License-Identifier: MIT */
/* The answers that scan_trial.c knows, against the reference; and that none of them is taken for another. */
#include <criterion/criterion.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plugin/scan/scan_trial.h"
#include "rankwatch/operation.h"
#include "scan_reference.h"

static _Alignas(16) unsigned char patterns[SCAN_TRIALS][SCAN_TRIAL_LONG_BYTES];

static struct scan_segment segment_of(enum scan_trial trial, uint32_t i)
{
	return scan_trial_segment(trial, i, (uintptr_t)patterns[trial]);
}

static struct scan_result reference(enum scan_trial trial, uint32_t i)
{
	const struct scan_segment segment = segment_of(trial, i);
	struct scan_result result;

	cr_assert(segment.address + segment.elements * reference_width(segment.dtype) <=
		  (uintptr_t)patterns[trial] + scan_trial_bytes(trial));
	reference_scan(segment.dtype, segment.flags, (const void *)(uintptr_t)segment.address, segment.elements,
		       &result);
	return result;
}

static void setup(void)
{
	for (enum scan_trial trial = 0; trial < SCAN_TRIALS; trial++)
		scan_trial_fill(trial, patterns[trial]);
}

TestSuite(scan_trial, .init = setup);

Test(scan_trial, the_known_answers_are_those_of_the_reference)
{
	int wrong_rows = 0;

	for (enum scan_trial trial = 0; trial < SCAN_TRIALS; trial++)
		for (uint32_t i = 0; i < scan_trial_segments(trial); i++) {
			const struct scan_result r = reference(trial, i);
			char wrong[SCAN_TRIAL_WORDS];

			if (scan_trial_is_right(trial, i, &r, wrong))
				continue;
			fprintf(stderr,
				"trial %d, row %" PRIu32 " ends: %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRId64
				", %af, 0x%016" PRIx64 ", 0x%016" PRIx64 "\n",
				trial, i, r.nan, r.inf, r.saturated, (int64_t)r.first_bad, (double)r.absmax, r.digest,
				r.lane_sum);
			wrong_rows++;
		}
	cr_assert_eq(wrong_rows, 0);
}

/* What a kernel could do wrong without being noticed is not in the buffer. */
Test(scan_trial, every_floating_type_has_something_of_every_kind)
{
	for (enum scan_trial trial = 0; trial < SCAN_TRIALS; trial++) {
		uint32_t seen = 0;

		for (uint32_t i = 0; i < scan_trial_segments(trial); i++) {
			const struct scan_segment segment = segment_of(trial, i);
			const struct scan_result r = reference(trial, i);

			if (segment.flags || !reference_is_float(segment.dtype) || segment.address % 16)
				continue;
			seen |= 1u << segment.dtype;
			cr_expect(r.nan >= 3 && r.first_bad < segment.elements);
			cr_expect(segment.dtype == RW_DTYPE_FLOAT8_E4M3 || r.inf >= 1);
			cr_expect(reference_width(segment.dtype) > 1 || r.saturated >= 2);
		}
		for (uint32_t i = 0; i < SCAN_DTYPES; i++)
			cr_expect(!reference_is_float(scan_dtypes[i]) || seen >> scan_dtypes[i] & 1, "type %d",
				  scan_dtypes[i]);
	}
}

/* The long buffer's segments of floating types that blocks read the fast way. */
static bool is_read_fast(uint32_t i)
{
	const struct scan_segment segment = segment_of(SCAN_TRIAL_LONG, i);

	return !segment.flags && reference_is_float(segment.dtype) && segment.address % 16 == 0;
}

static double value_at(const struct scan_segment *segment, uint64_t element)
{
	const size_t width = reference_width(segment->dtype);
	uint64_t bits = 0;

	memcpy(&bits, (const char *)(uintptr_t)segment->address + element * width, width);
	return reference_value(segment->dtype, bits);
}

/* Not finite, the end of the range, or so small that it is denormal or 0. */
static void expect_special(const struct scan_segment *segment, uint64_t element)
{
	static const double smallest_normal[RW_DTYPE_COUNT] = {
		[RW_DTYPE_FLOAT16] = 0x1p-14,     [RW_DTYPE_FLOAT32] = FLT_MIN,    [RW_DTYPE_FLOAT64] = DBL_MIN,
		[RW_DTYPE_BFLOAT16] = 0x1p-126,   [RW_DTYPE_FLOAT8_E4M3] = 0x1p-6, [RW_DTYPE_FLOAT8_E5M2] = 0x1p-14,
	};
	const double magnitude = fabs(value_at(segment, element));

	cr_expect(!isfinite(magnitude) || magnitude == reference_end_of_range(segment->dtype) ||
			  magnitude < smallest_normal[segment->dtype],
		  "type %d, element %" PRIu64 ": %g", segment->dtype, element, magnitude);
}

Test(scan_trial, every_block_goes_round_its_loop_in_the_long_buffer_and_meets_what_is_rare_at_borders)
{
	cr_assert_geq(SCAN_TRIAL_LONG_TILES, 3 * SCAN_TRIAL_LONG_BLOCKS);
	for (uint32_t i = 0; i < scan_trial_segments(SCAN_TRIAL_LONG); i++) {
		const struct scan_segment segment = segment_of(SCAN_TRIAL_LONG, i);
		const uint64_t width = reference_width(segment.dtype), tile = SCAN_TILE_BYTES / width;

		cr_expect_eq(segment.elements * width / SCAN_TILE_BYTES, SCAN_TRIAL_LONG_TILES);
		cr_expect_gt(segment.elements * width % SCAN_TILE_BYTES, 0);
		if (!is_read_fast(i))
			continue;
		expect_special(&segment, 0);
		expect_special(&segment, segment.elements - 1);
		for (uint32_t round = 1; round * SCAN_TRIAL_LONG_BLOCKS < SCAN_TRIAL_LONG_TILES; round++) {
			const uint64_t border = (round * SCAN_TRIAL_LONG_BLOCKS + (round == 2)) * tile;

			expect_special(&segment, border - 1);
			expect_special(&segment, border);
		}
		expect_special(&segment, SCAN_TRIAL_LONG_TILES * tile);
		expect_special(&segment, SCAN_TRIAL_LONG_TILES * tile + 777);
	}
}

/* A kernel that loses one round's largest value has another answer. fp64 is told as a float, which ends before it. */
Test(scan_trial, the_long_buffers_largest_values_lie_in_a_round_that_is_neither_the_first_nor_the_last)
{
	for (uint32_t i = 0; i < scan_trial_segments(SCAN_TRIAL_LONG); i++) {
		const struct scan_segment segment = segment_of(SCAN_TRIAL_LONG, i);
		const uint64_t round = SCAN_TRIAL_LONG_BLOCKS * SCAN_TILE_BYTES / reference_width(segment.dtype);
		const double end = reference_end_of_range(segment.dtype);

		if (!is_read_fast(i) || segment.dtype == RW_DTYPE_FLOAT64)
			continue;
		for (uint64_t element = 0; element < segment.elements; element++)
			cr_assert(fabs(value_at(&segment, element)) != end || element / round == 2, "type %d, element %" PRIu64,
				  segment.dtype, element);
		cr_expect_eq(reference(SCAN_TRIAL_LONG, i).absmax, (float)end);
	}
}

/* One that looks at the first round alone would not be told from one that finds what comes later. */
Test(scan_trial, a_first_bad_value_of_the_long_buffer_lies_behind_the_first_round)
{
	bool any = false;

	for (uint32_t i = 0; i < scan_trial_segments(SCAN_TRIAL_LONG); i++) {
		const struct scan_segment segment = segment_of(SCAN_TRIAL_LONG, i);
		const struct scan_result r = reference(SCAN_TRIAL_LONG, i);

		any |= is_read_fast(i) && r.first_bad != SCAN_NO_INDEX &&
		       r.first_bad * reference_width(segment.dtype) / SCAN_TILE_BYTES >= SCAN_TRIAL_LONG_BLOCKS;
	}
	cr_expect(any);
}

static void expect_wrong(enum scan_trial trial, uint32_t i, struct scan_result result, const char *words)
{
	char wrong[SCAN_TRIAL_WORDS] = "";

	cr_expect_not(scan_trial_is_right(trial, i, &result, wrong));
	cr_expect(strstr(wrong, words), "%s, not %s", wrong, words);
	cr_expect_eq(strncmp(wrong, "long ", 5) == 0, trial == SCAN_TRIAL_LONG);
}

static void expect_named(enum scan_trial trial, uint32_t i)
{
	const struct scan_result right = reference(trial, i);
	struct scan_result result = right;
	char words[64];

	result.nan++;
	snprintf(words, sizeof(words), " NaN %" PRIu32 ", not %" PRIu32, right.nan + 1, right.nan);
	expect_wrong(trial, i, result, words);
	result = right, result.inf--;
	expect_wrong(trial, i, result, " Inf ");
	result = right, result.saturated++;
	expect_wrong(trial, i, result, " saturated ");
	result = right, result.first_bad++;
	expect_wrong(trial, i, result, " first bad ");
	result = right, result.digest ^= 1;
	expect_wrong(trial, i, result, " digest");
	result = right, result.lane_sum ^= UINT64_C(1) << 63;
	expect_wrong(trial, i, result, " lane sum");
	result = right, result.absmax++;
	if (result.absmax != right.absmax)
		expect_wrong(trial, i, result, " largest value");
}

Test(scan_trial, every_field_that_differs_is_named)
{
	for (enum scan_trial trial = 0; trial < SCAN_TRIALS; trial++)
		for (uint32_t i = 0; i < scan_trial_segments(trial); i++)
			expect_named(trial, i);
}
