/* SPDX-License-Identifier: MIT */
#include "plugin/scan/scan_trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "rankwatch/operation.h"

/* Values that somebody could take for others. Each is something in every other type, too. */
static const struct {
	uint32_t at; /* byte */
	uint32_t width;
	uint64_t bits;
} values[] = {
	/* bfloat16: NaN of three kinds, infinities, the smallest denormal, the end of the range, -0 */
	{ 4098, 2, 0x7fc0 },
	{ 20002, 2, 0x7f81 },
	{ 65534, 2, 0xffff },
	{ 8206, 2, 0x7f80 },
	{ 65600, 2, 0xff80 },
	{ 30000, 2, 0x0001 },
	{ 16448, 2, 0x7f7f },
	{ 30064, 2, 0x8000 },
	/* float16 */
	{ 5000, 2, 0x7e00 },
	{ 23456, 2, 0x7c01 },
	{ 66000, 2, 0xfc01 },
	{ 9008, 2, 0x7c00 },
	{ 41000, 2, 0xfc00 },
	{ 51000, 2, 0x7bff },
	{ 52000, 2, 0x83ff },
	/* float32 */
	{ 6000, 4, 0x7fc00000 },
	{ 24000, 4, 0x7f800001 },
	{ 66100, 4, 0xff800001 },
	{ 12000, 4, 0xff800000 },
	{ 13000, 4, 0x7f7fffff },
	{ 14000, 4, 0x80000001 },
	/* float64 */
	{ 7000, 8, 0x7ff8000000000000 },
	{ 25000, 8, 0x7ff0000000000001 },
	{ 66200, 8, 0xfff0000000000000 },
	{ 26000, 8, 0x7fefffffffffffff },
	{ 27000, 8, 0x8000000000000001 },
	/* e4m3: both NaN, the end of the range, what would be an infinity in IEEE 754 */
	{ 33333, 1, 0x7f },
	{ 66540, 1, 0xff },
	{ 33350, 1, 0x7e },
	{ 66539, 1, 0xfe },
	{ 34000, 1, 0x78 },
	/* e5m2: infinities, NaN, the end of the range */
	{ 35001, 1, 0x7c },
	{ 35002, 1, 0xfc },
	{ 35003, 1, 0x7d },
	{ 35004, 1, 0x7b },
	{ 66301, 1, 0xfb },
};

/* first_bad: -1 none. */
struct answer {
	uint8_t dtype, flags, shift; /* shift: where it begins in the buffer */
	uint32_t elements, nan, inf, saturated;
	int64_t first_bad;
	float absmax;
	uint64_t digest, lane_sum;
};

/* tests/unit/plugin/scan_trial_test.c works them out again, and says what the lines are when they are others. */
static const struct answer answers[SCAN_TRIAL_SEGMENTS] = {
	{ RW_DTYPE_BFLOAT16, 0, 0, 33270, 12, 5, 0, 2049, 0x1.fep+127f, 0x2f127c1081276222, 0x4850a843aed64dbe },
	{ RW_DTYPE_FLOAT16, 0, 0, 33270, 26, 2, 0, 2049, 0x1.ffcp+15f, 0x2f127c1081276222, 0x4850a843aed64dbe },
	{ RW_DTYPE_FLOAT32, 0, 0, 16635, 12, 1, 0, 1024, 0x1.fffffep+127f, 0x2f127c1081276222, 0x4850a843aed64dbe },
	{ RW_DTYPE_FLOAT64, 0, 0, 8317, 3, 1, 0, 875, 0x1.fffffep+127f, 0xb750381bbab5ed18, 0x5114cdc94d333c00 },
	{ RW_DTYPE_FLOAT8_E4M3, 0, 0, 66541, 30, 0, 3, 4099, 0x1.cp+8f, 0x7b78294438df9e46, 0xf2f5ed686cf007cd },
	{ RW_DTYPE_FLOAT8_E5M2, 0, 0, 66541, 34, 6, 3, 4099, 0x1.cp+15f, 0x7b78294438df9e46, 0xf2f5ed686cf007cd },
	{ RW_DTYPE_INT32, 0, 0, 16635, 0, 0, 0, -1, 0x0p+0f, 0x2f127c1081276222, 0x4850a843aed64dbe },
	{ RW_DTYPE_BFLOAT16, SCAN_DIGEST_ONLY, 0, 33270, 0, 0, 0, -1, 0x0p+0f, 0x2f127c1081276222, 0x4850a843aed64dbe },
	{ RW_DTYPE_BFLOAT16, 0, 2, 3001, 2, 0, 0, 2048, 0x1p+125f, 0x2146137c1af2bc08, 0xb346bced2ff12a20 },
	{ RW_DTYPE_FLOAT16, 0, 6, 3002, 3, 0, 0, 2046, 0x1.efcp+0f, 0xec84a1fb12bb1451, 0xf9c8d28d7573ffa1 },
	{ RW_DTYPE_FLOAT32, 0, 4, 1601, 2, 0, 0, 1023, 0x1.684e32p+0f, 0x7994293848f465be, 0x2dc46a417d5c6510 },
	{ RW_DTYPE_FLOAT64, 0, 8, 901, 1, 0, 0, 874, 0x1.21c3eap-4f, 0xc065166e9ea55970, 0x9cf8d6e7720cc1ce },
	{ RW_DTYPE_FLOAT8_E4M3, 0, 1, 5207, 1, 0, 1, 4098, 0x1.cp+8f, 0x45c71dfc10727607, 0xdd7c5583face7a78 },
	{ RW_DTYPE_FLOAT8_E5M2, 0, 3, 5207, 2, 0, 0, 4096, 0x1p+1f, 0xb4ad8b95420f537f, 0xda99d6d5ef1713f0 },
	{ RW_DTYPE_UINT8, SCAN_DIGEST_ONLY, 5, 1234, 0, 0, 0, -1, 0x0p+0f, 0x0e3875d34c1707df, 0xe66d853cd0a9cbc9 },
	{ RW_DTYPE_BFLOAT16, 0, 2, 0, 0, 0, 0, -1, 0x0p+0f, 0x0000000000000000, 0x0000000000000000 },
};

static const char *type_name(const struct answer *answer)
{
	static const char *const names[RW_DTYPE_COUNT] = {
		[RW_DTYPE_FLOAT16] = "float16", [RW_DTYPE_BFLOAT16] = "bfloat16", [RW_DTYPE_FLOAT32] = "float32",
		[RW_DTYPE_FLOAT64] = "float64", [RW_DTYPE_FLOAT8_E4M3] = "e4m3",  [RW_DTYPE_FLOAT8_E5M2] = "e5m2",
	};

	return names[answer->dtype] && !answer->flags ? names[answer->dtype] : "integer";
}

/* Any bytes, but the highest bit of exponents is 0 in all types: finite values. */
static void fill_finite(unsigned char pattern[SCAN_TRIAL_BYTES])
{
	uint32_t state = 1;

	for (uint32_t i = 0; i < SCAN_TRIAL_BYTES; i++) {
		state = state * 1664525 + 1013904223;
		pattern[i] = (unsigned char)(state >> 24 & 0xbf);
	}
}

void scan_trial_fill(unsigned char pattern[SCAN_TRIAL_BYTES])
{
	fill_finite(pattern);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		memcpy(pattern + values[i].at, &values[i].bits, values[i].width); /* little endian, as GPUs are */
}

struct scan_segment scan_trial_segment(uint32_t i, uint64_t address)
{
	const struct answer *answer = &answers[i];

	return (struct scan_segment){ .address = address + answer->shift,
				      .elements = answer->elements,
				      .dtype = answer->dtype,
				      .flags = answer->flags };
}

bool scan_trial_is_right(uint32_t i, const struct scan_result *result, char wrong[SCAN_TRIAL_WORDS])
{
	const struct answer *answer = &answers[i];
	const struct {
		const char *what;
		int64_t is, should;
	} counts[] = {
		{ "NaN", result->nan, answer->nan },
		{ "Inf", result->inf, answer->inf },
		{ "saturated", result->saturated, answer->saturated },
		{ "first bad", (int64_t)result->first_bad, answer->first_bad },
	};
	const char *differs = result->digest != answer->digest       ? "digest"
			      : result->lane_sum != answer->lane_sum ? "lane sum"
			      : result->absmax != answer->absmax     ? "largest value"
								     : NULL;

	for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++) {
		if (counts[n].is == counts[n].should)
			continue;
		snprintf(wrong, SCAN_TRIAL_WORDS, "%s %s %" PRId64 ", not %" PRId64, type_name(answer), counts[n].what,
			 counts[n].is, counts[n].should);
		return false;
	}
	if (differs)
		snprintf(wrong, SCAN_TRIAL_WORDS, "%s %s", type_name(answer), differs);
	return !differs;
}
