/* SPDX-License-Identifier: MIT */
/* The arithmetic on words and packs that GPU and CPU share: every pattern of the small types, in every lane. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#include "plugin/scan/scan_pack.h"
#include "scan_reference.h"

static const uint8_t small_types[] = { RW_DTYPE_FLOAT16, RW_DTYPE_BFLOAT16, RW_DTYPE_FLOAT8_E4M3,
				       RW_DTYPE_FLOAT8_E5M2 };

/* What lies beside the lane: nothing, everything, the ends and the first values that are not finite. */
static const uint32_t neighbours[] = { 0,          0xffffffff, 0x7f7f7f7f, 0x80808080, 0x7bff7bff, 0x7c007c00,
				       0x7f7f7f7e, 0x7f807f80, 0x7e7e7e7e, 0x7b7b7b7b, 0x7c7c7c7c, 0x00010001 };

static void expect_found(uint8_t dtype, uint32_t word, const struct scan_found *found, struct scan_top top)
{
	const uint32_t value = word;
	struct scan_result expected;

	reference_scan(dtype, 0, &value, 4 / reference_width(dtype), &expected);
	cr_assert(found->nan == expected.nan && found->inf == expected.inf && found->saturated == expected.saturated &&
		      found->first_bad == expected.first_bad,
		  "type %d, word %08x: nan %u, inf %u, saturated %u", dtype, word, found->nan, found->inf,
		  found->saturated);

	const struct scan_format format = scan_format_of(dtype);
	const float absmax = scan_magnitude_value(format, scan_top_magnitude(format, top));
	cr_assert(absmax == expected.absmax, "type %d, word %08x: absmax %g, not %g", dtype, word, absmax,
		  expected.absmax);
}

/* The quick look must see whatever there is to be counted, and nothing else. */
static void expect_rare(uint8_t dtype, uint32_t word, const struct scan_found *found)
{
	const struct scan_format format = scan_format_of(dtype);
	struct scan_top top = { 0, 0 };

	scan_top_add(format, &top, 0, word);
	cr_assert_eq(scan_top_is_rare(format, top), found->nan + found->inf + found->saturated > 0,
		     "type %d, word %08x", dtype, word);
}

static void check_word(uint8_t dtype, uint32_t word)
{
	const struct scan_format format = scan_format_of(dtype);
	struct scan_found found = { .first_bad = SCAN_NO_INDEX };
	struct scan_top top = { 0, 0 };

	scan_examine(format, &found, &top, (struct scan_pack){ { word } }, 0);
	expect_found(dtype, word, &found, top);
	expect_rare(dtype, word, &found);
}

Test(scan_lanes, every_pattern_of_a_small_type_counts_as_what_it_is_in_every_lane)
{
	for (size_t t = 0; t < sizeof(small_types); t++) {
		const uint32_t width = (uint32_t)reference_width(small_types[t]) * 8, lanes = 32 / width;

		for (uint32_t i = 0; i < (1u << width) * lanes * 12; i++) {
			const uint32_t shift = i / 12 % lanes * width, mask = ((1u << width) - 1) << shift;
			check_word(small_types[t], (neighbours[i % 12] & ~mask) | (i / 12 / lanes) << shift);
		}
	}
}

Test(scan_lanes, a_float_counts_as_what_it_is_at_every_exponent_and_at_the_ends_of_its_fraction)
{
	static const uint32_t fractions[] = { 0, 1, 2, 0x3fffff, 0x400000, 0x400001, 0x7ffffe, 0x7fffff };

	for (uint32_t i = 0; i < 512 * 8; i++)
		check_word(RW_DTYPE_FLOAT32, i / 8 << 23 | fractions[i % 8]);
}

static void check_double(uint64_t bits)
{
	const struct scan_format format = scan_format_of(RW_DTYPE_FLOAT64);
	const double value = reference_value(RW_DTYPE_FLOAT64, bits);
	const uint32_t low = (uint32_t)bits, high = (uint32_t)(bits >> 32);
	struct scan_found found = { .first_bad = SCAN_NO_INDEX };
	struct scan_top top = { 0, 0 }, quick = { 0, 0 };

	scan_examine(format, &found, &top, (struct scan_pack){ { 0, 0, low, high } }, 5);
	scan_top_add(format, &quick, low, high);
	cr_assert(found.nan == (isnan(value) != 0) && found.inf == (isinf(value) != 0), "%016lx", bits);
	cr_assert_eq(found.first_bad, isfinite(value) ? SCAN_NO_INDEX : 11);
	cr_assert_eq(scan_top_is_rare(format, quick), !isfinite(value), "%016lx", bits);
	cr_assert_eq(scan_magnitude_value(format, scan_top_magnitude(format, top)),
		     isfinite(value) ? (float)fmin(fabs(value), FLT_MAX) : 0, "%016lx", bits);
}

Test(scan_lanes, a_double_counts_as_what_it_is_at_every_exponent_and_at_the_ends_of_its_fraction)
{
	static const uint64_t fractions[] = { 0,
					      1,
					      0xffffffff,
					      0x100000000,
					      0x7ffffffffffff,
					      0x8000000000000,
					      0xfffffffffffff,
					      0xfffffe0000000,
					      0xfffffefffffff };

	for (uint64_t i = 0; i < 4096 * 9; i++)
		check_double(i / 9 << 52 | fractions[i % 9]);
}

Test(scan_lanes, magnitudes_have_the_order_of_the_values)
{
	for (size_t t = 0; t < sizeof(small_types); t++) {
		const struct scan_format format = scan_format_of(small_types[t]);

		for (uint64_t magnitude = 1; magnitude < format.bad; magnitude++)
			cr_assert(scan_magnitude_value(format, magnitude - 1) <
				  scan_magnitude_value(format, magnitude));
		cr_assert_eq(scan_magnitude_value(format, format.bad - 1), reference_end_of_range(small_types[t]));
	}
}

Test(scan_lanes, the_plain_classification_agrees_with_that_of_lanes)
{
	for (size_t t = 0; t < sizeof(small_types); t++) {
		const struct scan_format format = scan_format_of(small_types[t]);

		for (uint64_t bits = 0; bits < UINT64_C(1) << format.width; bits++) {
			const double value = reference_value(small_types[t], bits);
			const uint64_t magnitude = scan_magnitude(format, bits);

			cr_assert_eq(scan_classify(format, magnitude), isnan(value)   ? SCAN_NAN
								       : isinf(value) ? SCAN_INF
										      : SCAN_FINITE);
			cr_assert_eq(scan_is_saturated(format, magnitude),
				     format.width == 8 && fabs(value) == reference_end_of_range(small_types[t]));
		}
	}
}

Test(scan_lanes, the_digest_of_a_window_behind_32_GiB_is_that_of_its_place)
{
	const struct scan_pack pack = { { 0xdeadbeef, 1, 0xffffffff, 0x80000000 } };
	const uint64_t v = 5 * SCAN_WINDOW_PACKS + 12345, factor = 2 * v + 1;
	struct scan_sums sums = { { 0 }, 0 };
	uint64_t digest = 0, lane_sum = 0;

	scan_sums_add(&sums, &pack, 1, (uint32_t)factor, 0);
	scan_sums_fold(&sums, 5 * SCAN_WINDOW_PACKS, &digest, &lane_sum);
	cr_assert_eq(digest, factor * (SCAN_LANE_FACTOR_0 * 0xdeadbeef + SCAN_LANE_FACTOR_1 +
				       SCAN_LANE_FACTOR_2 * 0xffffffff + SCAN_LANE_FACTOR_3 * 0x80000000));
	cr_assert_eq(sums.lane_sum, 0);
}
