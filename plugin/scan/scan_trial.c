/* SPDX-License-Identifier: MIT */
#include "plugin/scan/scan_trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plugin/scan/scan_value.h"
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
	uint8_t dtype, flags;
	uint16_t shift; /* where it begins in the buffer */
	uint32_t elements, nan, inf, saturated;
	int64_t first_bad;
	float absmax;
	uint64_t digest, lane_sum;
};

/* tests/unit/plugin/scan_trial_test.c calculates them again, and prints the right lines where these differ. */
static const struct answer short_answers[SCAN_TRIAL_SHORT_SEGMENTS] = {
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

enum {
	LONG_TYPES = 6,
	LONG_PLACES = 13,
	/* the segment of each type begins so many bytes behind the one before: its borders are its own */
	LONG_STEP = 64,
	/* Of the buffer, that each of them takes. It does not end with a whole 16 bytes. */
	LONG_PIECE = SCAN_TRIAL_LONG_BYTES - (LONG_TYPES - 1) * LONG_STEP - 5,
};

/* Elements from the beginning of a tile. */
static const struct {
	uint32_t tile; /* LAST: the segment's end */
	int32_t element;
} long_places[LONG_PLACES] = {
#define LAST UINT32_MAX
	{ 0, 0 },
	{ 1, -1 },
	{ 1, 0 },
	{ SCAN_TRIAL_LONG_BLOCKS, -1 },
	{ SCAN_TRIAL_LONG_BLOCKS, 0 }, /* the first block's second tile */
	{ 2 * SCAN_TRIAL_LONG_BLOCKS + 1, -1 },
	{ 2 * SCAN_TRIAL_LONG_BLOCKS + 1, 0 },
	{ 3 * SCAN_TRIAL_LONG_BLOCKS, -1 },
	{ 3 * SCAN_TRIAL_LONG_BLOCKS, 0 },
	{ SCAN_TRIAL_LONG_TILES, -1 },
	{ SCAN_TRIAL_LONG_TILES, 0 }, /* the rest, which no block reads the fast way */
	{ SCAN_TRIAL_LONG_TILES, 777 },
	{ LAST, -1 },
};

/*
 * What lies there, of each type of long_answers. The ends of ranges are only at the sixth and seventh place, in the
 * blocks' third tiles: who forgets a tile's largest value does not find it in another one. First there is now a value
 * that is not finite and now a finite one, so that the first bad index lies in tiles of different rounds.
 */
static const uint64_t long_values[LONG_TYPES][LONG_PLACES] = {
	/* bfloat16 */
	{ 0x7fc0, 0x0001, 0x7f81, 0x8000, 0xff80, 0x7f7f, 0xff7f, 0x7f80, 0xffc0, 0x7f80, 0xff81, 0x7f80, 0xffff },
	/* float16 */
	{ 0xfc00, 0x0001, 0x7c01, 0xfc01, 0x7c00, 0xfbff, 0x7bff, 0x7d00, 0xfc00, 0x83ff, 0x7c00, 0xfd00, 0x7c00 },
	/* float32 */
	{ 0x00000001, 0x80000000, 0x807fffff, 0x80000001, 0x7fc00000, 0x7f7fffff, 0xff7fffff, 0xff800000, 0x7f800001,
	  0x7f800000, 0xffc00001, 0xff800000, 0x7f800000 },
	/* float64 */
	{ 0x0000000000000001, 0x8000000000000001, 0x000f000000000000, 0x800f000000000000, 0x7ff0000000000001,
	  0x7fefffffffffffff, 0xffefffffffffffff, 0xfff0000000000000, 0x7ff8000000000000, 0x7ff0000000000000,
	  0xfff8000000000001, 0x7ff0000000000000, 0xfff8000000000000 },
	/* e4m3 */
	{ 0x7f, 0x01, 0xff, 0x81, 0x7f, 0x7e, 0xfe, 0x80, 0xff, 0x7f, 0xff, 0x7f, 0x7f },
	/* e5m2 */
	{ 0x01, 0x81, 0x03, 0x80, 0x7c, 0x7b, 0xfb, 0x7d, 0xfc, 0x7c, 0xff, 0xfd, 0xfc },
};

static const struct answer long_answers[SCAN_TRIAL_LONG_SEGMENTS] = {
#define PIECE(type, number, width) RW_DTYPE_##type, 0, (number) * LONG_STEP, LONG_PIECE / (width)
	{ PIECE(BFLOAT16, 0, 2), 24, 8, 0, 0, 0x1.fep+127f, 0x7404b781fc52dc9c, 0x03c5df6edef5af16 },
	{ PIECE(FLOAT16, 1, 2), 45, 5, 0, 0, 0x1.ffcp+15f, 0xee69454341b07167, 0xfa27cb94e5d203d1 },
	{ PIECE(FLOAT32, 2, 4), 16, 4, 0, 98304, 0x1.fffffep+127f, 0x43cd04b8c69db948, 0x660a70643a828c7c },
	{ PIECE(FLOAT64, 3, 8), 4, 3, 0, 49152, 0x1.fffffep+127f, 0x4b43f4e9242490b3, 0x289d4c320c7c0db5 },
	{ PIECE(FLOAT8_E4M3, 4, 1), 64, 0, 2, 0, 0x1.cp+8f, 0x8aa3a9264c02509b, 0x08653d907787de20 },
	{ PIECE(FLOAT8_E5M2, 5, 1), 69, 10, 4, 65217, 0x1.cp+15f, 0x089f169eda12bc32, 0xdc6ea80bd347866b },
	/* Read in words and in bytes, and without examining values. */
	{ RW_DTYPE_FLOAT32, 0, 4, LONG_PIECE / 4, 16, 3, 0, 98335, 0x1.fffffep+127f, 0x34a70af62735e30c,
	  0x2f855ade6e6bf40c },
	{ RW_DTYPE_BFLOAT16, 0, 2, LONG_PIECE / 2, 23, 8, 0, 32767, 0x1.fep+127f, 0x3a178dd78e9a7235,
	  0xff7e5eebb1414b41 },
	{ RW_DTYPE_UINT8, SCAN_DIGEST_ONLY, 0, SCAN_TRIAL_LONG_BYTES, 0, 0, 0, -1, 0x0p+0f, 0xf41e7ec315e5dd2d,
	  0xbbfb839932e2fc63 },
};

static const struct trial {
	uint32_t bytes, segments;
	const struct answer *answers;
	const char *name; /* before a type's */
} trials[SCAN_TRIALS] = {
	[SCAN_TRIAL_SHORT] = { SCAN_TRIAL_SHORT_BYTES, SCAN_TRIAL_SHORT_SEGMENTS, short_answers, "" },
	[SCAN_TRIAL_LONG] = { SCAN_TRIAL_LONG_BYTES, SCAN_TRIAL_LONG_SEGMENTS, long_answers, "long " },
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
static void fill_short(unsigned char *pattern)
{
	uint32_t state = 1;

	for (uint32_t i = 0; i < SCAN_TRIAL_SHORT_BYTES; i++) {
		state = state * 1664525 + 1013904223;
		pattern[i] = (unsigned char)(state >> 24 & 0xbf);
	}
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		memcpy(pattern + values[i].at, &values[i].bits, values[i].width); /* little endian, as GPUs are */
}

/* The same, a word at a time: there is more of it. No two tiles are alike. */
static void fill_finite_words(unsigned char *pattern)
{
	uint32_t state = 1;

	for (uint32_t i = 0; i < SCAN_TRIAL_LONG_BYTES; i += sizeof(state)) {
		state = state * 1664525 + 1013904223;
		const uint32_t word = (state ^ state >> 15) & 0xbfbfbfbf;
		memcpy(pattern + i, &word, sizeof(word));
	}
}

static uint64_t place_of(const struct answer *answer, uint32_t width, uint32_t place)
{
	const uint32_t tile = long_places[place].tile;
	const uint64_t from = tile == LAST ? (uint64_t)answer->elements * width : (uint64_t)tile * SCAN_TILE_BYTES;

	return answer->shift + from + (uint64_t)((int64_t)long_places[place].element * (int64_t)width);
}

static void fill_long(unsigned char *pattern)
{
	fill_finite_words(pattern);
	for (uint32_t type = 0; type < LONG_TYPES; type++) {
		const struct answer *answer = &long_answers[type];
		const uint32_t width = scan_format_of(answer->dtype).width / 8;

		for (uint32_t i = 0; i < LONG_PLACES; i++)
			memcpy(pattern + place_of(answer, width, i), &long_values[type][i], width);
	}
}

uint32_t scan_trial_bytes(enum scan_trial trial)
{
	return trials[trial].bytes;
}

uint32_t scan_trial_segments(enum scan_trial trial)
{
	return trials[trial].segments;
}

void scan_trial_fill(enum scan_trial trial, unsigned char *pattern)
{
	if (trial == SCAN_TRIAL_LONG)
		fill_long(pattern);
	else
		fill_short(pattern);
}

struct scan_segment scan_trial_segment(enum scan_trial trial, uint32_t i, uint64_t address)
{
	const struct answer *answer = &trials[trial].answers[i];

	return (struct scan_segment){ .address = address + answer->shift,
				      .elements = answer->elements,
				      .dtype = answer->dtype,
				      .flags = answer->flags };
}

bool scan_trial_is_right(enum scan_trial trial, uint32_t i, const struct scan_result *result,
			 char wrong[SCAN_TRIAL_WORDS])
{
	const char *name = trials[trial].name;
	const struct answer *answer = &trials[trial].answers[i];
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
		snprintf(wrong, SCAN_TRIAL_WORDS, "%s%s %s %" PRId64 ", not %" PRId64, name, type_name(answer),
			 counts[n].what, counts[n].is, counts[n].should);
		return false;
	}
	if (differs)
		snprintf(wrong, SCAN_TRIAL_WORDS, "%s%s %s", name, type_name(answer), differs);
	return !differs;
}
