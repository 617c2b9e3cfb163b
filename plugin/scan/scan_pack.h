/* SPDX-License-Identifier: MIT */
/*
 * Sixteen bytes of a buffer at a time: the arithmetic of the scan kernel, the same text on a GPU and on a CPU. Values
 * are examined in the 32-bit words that hold them ("lanes" of a word: one fp32, two 16-bit, four 8-bit values).
 *
 * With the sign bits cleared, a lane is at least T if and only if adding 2^(width-1) - T sets its highest bit; no carry
 * leaves a lane, since both are at most 2^(width-1). So one addition asks all lanes of a word.
 */
#ifndef PLUGIN_SCAN_SCAN_PACK_H
#define PLUGIN_SCAN_SCAN_PACK_H

#include "plugin/scan/scan_kernel.h"
#include "plugin/scan/scan_value.h"

/* Arrays in registers need loops without a counter. */
#ifdef __CUDACC__
#define SCAN_UNROLLED _Pragma("unroll")
#else
#define SCAN_UNROLLED
#endif

#define SCAN_PACK_BYTES  16
#define SCAN_GROUP_PACKS 8 /* that a thread has in flight */
/* Of buffers beyond 32 GiB the digest is summed in windows, so that its factors 2 v + 1 fit 32 bits. */
#define SCAN_WINDOW_PACKS (UINT64_C(1) << 31)

/* Little endian, as in memory. */
struct scan_pack {
	uint32_t word[4];
};

/* Sums for the digest: (2 v + 1) word per lane of the digest, and the lane sum. */
struct scan_sums {
	uint64_t weighted[4], lane_sum;
};

/* Largest magnitude. 8 bits: low has the even, high the odd bytes of words, each in 16 bits of its own; 16 bits: low
 * has one per half; 32 bits: low; 64 bits: both. */
struct scan_top {
	uint32_t low, high;
};

/* What is rare. */
struct scan_found {
	uint64_t first_bad; /* element; SCAN_NO_INDEX none */
	uint32_t nan, inf, saturated;
};

/* For words with lanes of at most 32 bits. */
struct scan_lanes {
	uint32_t highest;       /* bit of each lane */
	uint32_t bad, nan, end; /* to be added: asks for >= format.bad, >= format.nan, >= the end of the range */
};

SCAN_INLINE uint32_t scan_each_lane(struct scan_format format, uint32_t value)
{
	const uint32_t ones = format.width == 8 ? 0x01010101 : format.width == 16 ? 0x00010001 : 1;

	return value * ones;
}

SCAN_INLINE struct scan_lanes scan_lanes_of(struct scan_format format)
{
	const uint32_t highest = 1u << ((format.width - 1) & 31);
	const struct scan_lanes lanes = {
		scan_each_lane(format, highest),
		scan_each_lane(format, highest - (uint32_t)format.bad),
		scan_each_lane(format, highest - (uint32_t)format.nan),
		scan_each_lane(format, highest - (uint32_t)format.bad + 1),
	};

	return lanes;
}

/* Of a word in which only the lanes' highest bits may be set. Where a CPU need not have an instruction for it, compilers call a function:
 * half of the time that the stand-in's scan of bad data took. */
SCAN_INLINE uint32_t scan_ones(uint32_t word)
{
#ifdef __CUDA_ARCH__
	return (uint32_t)__popc(word);
#else
	return (word >> 7) * 0x01010101u >> 24;
#endif
}

/* word is not 0. */
SCAN_INLINE uint32_t scan_lowest_bit(uint32_t word)
{
#ifdef __CUDA_ARCH__
	return (uint32_t)__ffs((int)word) - 1;
#else
	return (uint32_t)__builtin_ctz(word);
#endif
}

SCAN_INLINE uint32_t scan_max32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Of both halves: the upper ones decide a comparison of the words. */
SCAN_INLINE uint32_t scan_max16(uint32_t a, uint32_t b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	return __vmaxu2(a, b);
#else
	return (scan_max32(a, b) & 0xffff0000) | scan_max32(a & 0xffff, b & 0xffff);
#endif
}

SCAN_INLINE uint32_t scan_max16_of_three(uint32_t a, uint32_t b, uint32_t c)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	return __vimax3_u16x2(a, b, c);
#else
	return (scan_max32(scan_max32(a, b), c) & 0xffff0000) |
	       scan_max32(scan_max32(a & 0xffff, b & 0xffff), c & 0xffff);
#endif
}

SCAN_INLINE void scan_top_merge(struct scan_format format, struct scan_top *top, struct scan_top other)
{
	const uint64_t mine = (uint64_t)top->high << 32 | top->low, others = (uint64_t)other.high << 32 | other.low;

	if (format.width == 64) {
		*top = others > mine ? other : *top;
	} else if (format.width == 32) {
		top->low = scan_max32(top->low, other.low);
	} else {
		top->low = scan_max16(top->low, other.low);
		if (format.width == 8)
			top->high = scan_max16(top->high, other.high);
	}
}

/* Two words that follow each other, at an even word of the buffer. */
SCAN_INLINE void scan_top_add(struct scan_format format, struct scan_top *top, uint32_t first, uint32_t second)
{
	if (format.width == 8) {
		top->low = scan_max16_of_three(top->low, first & 0x007f007f, second & 0x007f007f);
		top->high = scan_max16_of_three(top->high, first & 0x7f007f00, second & 0x7f007f00);
	} else if (format.width == 16) {
		top->low = scan_max16_of_three(top->low, first & 0x7fff7fff, second & 0x7fff7fff);
	} else if (format.width == 32) {
		top->low = scan_max32(scan_max32(top->low, first & 0x7fffffff), second & 0x7fffffff);
	} else {
		const struct scan_top other = { first, second & 0x7fffffff };
		scan_top_merge(format, top, other);
	}
}

SCAN_INLINE void scan_top_add_pack(struct scan_format format, struct scan_top *top, struct scan_pack pack)
{
	scan_top_add(format, top, pack.word[0], pack.word[1]);
	scan_top_add(format, top, pack.word[2], pack.word[3]);
}

/* Is there anything below it that must be counted: a value that is not finite, or fp8 at the end of its range? */
SCAN_INLINE int scan_top_is_rare(struct scan_format format, struct scan_top top)
{
	const struct scan_lanes lanes = scan_lanes_of(format);

	if (format.width == 64)
		return top.high >= (uint32_t)(format.bad >> 32);
	if (format.width == 8)
		return (((top.low + lanes.end) | (top.high + lanes.end)) & lanes.highest) != 0;
	return ((top.low + lanes.bad) & lanes.highest) != 0;
}

SCAN_INLINE uint64_t scan_top_magnitude(struct scan_format format, struct scan_top top)
{
	if (format.width == 64)
		return (uint64_t)top.high << 32 | top.low;
	if (format.width == 32)
		return top.low;
	if (format.width == 8)
		top.low = scan_max16(top.low, top.high >> 8);
	return scan_max32(top.low >> 16, top.low & 0xffff);
}

/* Counts in one word with lanes of at most 32 bits, and takes its finite lanes, the others 0, for the top.
 * element: index of the word's first lane. */
SCAN_INLINE uint32_t scan_examine_word(struct scan_format format, struct scan_found *found, uint32_t word,
				       uint64_t element)
{
	const struct scan_lanes lanes = scan_lanes_of(format);
	const uint32_t magnitudes = word & ~lanes.highest;
	const uint32_t bad = (magnitudes + lanes.bad) & lanes.highest;
	const uint32_t nan = (magnitudes + lanes.nan) & lanes.highest;

	found->nan += scan_ones(nan);
	found->inf += scan_ones(bad ^ nan);
	if (format.width == 8)
		found->saturated += scan_ones(((magnitudes + lanes.end) & lanes.highest) ^ bad);
	if (bad && found->first_bad == SCAN_NO_INDEX)
		found->first_bad = element + scan_lowest_bit(bad) / format.width;
	return magnitudes & ~((bad << 1) - (bad >> (format.width - 1)));
}

SCAN_INLINE void scan_examine_fp64(struct scan_format format, struct scan_found *found, struct scan_top *top,
				   const uint32_t word[2], uint64_t element)
{
	const uint64_t magnitude = scan_magnitude(format, (uint64_t)word[1] << 32 | word[0]);
	const enum scan_class what = scan_classify(format, magnitude);

	found->nan += what == SCAN_NAN;
	found->inf += what == SCAN_INF;
	if (what == SCAN_FINITE)
		scan_top_add(format, top, word[0], word[1]);
	else if (found->first_bad == SCAN_NO_INDEX)
		found->first_bad = element;
}

/* Everything about the values of pack v of the buffer. Packs must come in ascending order. */
SCAN_INLINE void scan_examine(struct scan_format format, struct scan_found *found, struct scan_top *top,
			      struct scan_pack pack, uint64_t v)
{
	const uint64_t element = v * (SCAN_PACK_BYTES * 8 / format.width);
	const uint32_t per_word = 32 / format.width;

	SCAN_UNROLLED for (int i = 0; i < 4; i += 2)
	{
		if (format.width == 64) {
			scan_examine_fp64(format, found, top, pack.word + i, element + (uint64_t)i / 2);
			continue;
		}
		const uint32_t first = scan_examine_word(format, found, pack.word[i], element + i * per_word);
		const uint32_t second =
		    scan_examine_word(format, found, pack.word[i + 1], element + (i + 1) * per_word);
		scan_top_add(format, top, first, second);
	}
}

/* One piece of code per width: DO(format) with a format whose width the compiler knows. */
#define SCAN_BY_WIDTH(any, DO)                                                                                         \
	const struct scan_format f8 = { 8, (any).fraction, (any).bad, (any).nan };                                     \
	const struct scan_format f16 = { 16, (any).fraction, (any).bad, (any).nan };                                   \
	switch ((any).fraction ? (any).width : 0) {                                                                    \
	case 8:                                                                                                        \
		DO(f8);                                                                                                \
		break;                                                                                                 \
	case 16:                                                                                                       \
		DO(f16);                                                                                               \
		break;                                                                                                 \
	case 32:                                                                                                       \
		DO(scan_format_of(RW_DTYPE_FLOAT32));                                                                  \
		break;                                                                                                 \
	case 64:                                                                                                       \
		DO(scan_format_of(RW_DTYPE_FLOAT64));                                                                  \
		break;                                                                                                 \
	default:                                                                                                       \
		break;                                                                                                 \
	}

SCAN_INLINE int scan_group_is_rare(struct scan_format format, const struct scan_pack packs[SCAN_GROUP_PACKS],
				   struct scan_top *top)
{
	struct scan_top mine = { 0, 0 };

	SCAN_UNROLLED for (int i = 0; i < SCAN_GROUP_PACKS; i++) scan_top_add_pack(format, &mine, packs[i]);
	if (scan_top_is_rare(format, mine))
		return 1;
	scan_top_merge(format, top, mine);
	return 0;
}

/* The quick pass: 0, the packs are in the top; 1, there is something to be counted, let scan_examine_as examine each.
 */
SCAN_INLINE int scan_group_as(struct scan_format any, const struct scan_pack packs[SCAN_GROUP_PACKS],
			      struct scan_top *top)
{
	int rare = 0;

#define SCAN_LOOK(format) rare = scan_group_is_rare(format, packs, top)
	SCAN_BY_WIDTH(any, SCAN_LOOK)
#undef SCAN_LOOK
	return rare;
}

SCAN_INLINE void scan_examine_as(struct scan_format any, struct scan_found *found, struct scan_top *top,
				 struct scan_pack pack, uint64_t v){
#define SCAN_EXAMINE(format) scan_examine(format, found, top, pack, v)
	SCAN_BY_WIDTH(any, SCAN_EXAMINE)
#undef SCAN_EXAMINE
}

SCAN_INLINE uint64_t scan_lane_factor(int j)
{
	const uint64_t factors[4] = { SCAN_LANE_FACTOR_0, SCAN_LANE_FACTOR_1, SCAN_LANE_FACTOR_2, SCAN_LANE_FACTOR_3 };

	return factors[j];
}

/* factor: 2 v + 1 of the first pack, v relative to the window; step: from each factor to the next one. */
SCAN_INLINE void scan_sums_add(struct scan_sums *sums, const struct scan_pack *packs, int count, uint32_t factor,
			       uint32_t step)
{
	SCAN_UNROLLED for (int j = 0; j < 4; j++)
	{
		uint64_t plain = 0;

		SCAN_UNROLLED for (int i = 0; i < count; i++)
		{
			sums->weighted[j] += (uint64_t)(factor + (uint32_t)i * step) * packs[i].word[j];
			plain += packs[i].word[j];
		}
		sums->lane_sum += scan_lane_factor(j) * plain;
	}
}

/* Moves the sums of a window that begins at pack `window` into a digest without its length, and clears them. */
SCAN_INLINE void scan_sums_fold(struct scan_sums *sums, uint64_t window, uint64_t *digest, uint64_t *lane_sum)
{
	*digest += 2 * window * sums->lane_sum;
	*lane_sum += sums->lane_sum;
	sums->lane_sum = 0;
	SCAN_UNROLLED for (int j = 0; j < 4; j++)
	{
		*digest += scan_lane_factor(j) * sums->weighted[j];
		sums->weighted[j] = 0;
	}
}

#endif
