/* SPDX-License-Identifier: MIT */
#include "sim/nccl/data/number.h"

#include <string.h>

#define BLOCK 256 /* elements converted at a time; the accumulator stays in the first-level cache */

/* Every type is computed in one of these; sums and products of integers wrap as they do in the narrow type. */
union wide {
	int64_t i64[BLOCK];
	uint64_t u64[BLOCK];
	float f32[BLOCK];
	double f64[BLOCK];
};

enum wide_kind { WIDE_I64, WIDE_U64, WIDE_F32, WIDE_F64 };

#define LOAD_STORE(name, type, member, wide_type)                                                                      \
	static void load_##name(union wide *to, const void *from, size_t count)                                        \
	{                                                                                                              \
		const type *in = from;                                                                                 \
                                                                                                                       \
		for (size_t i = 0; i < count; i++)                                                                     \
			to->member[i] = in[i];                                                                         \
	}                                                                                                              \
	static void store_##name(void *to, const union wide *from, size_t count)                                       \
	{                                                                                                              \
		type *out = to;                                                                                        \
                                                                                                                       \
		for (size_t i = 0; i < count; i++)                                                                     \
			out[i] = (type)(wide_type)from->member[i];                                                     \
	}

LOAD_STORE(i8, int8_t, i64, uint64_t)
LOAD_STORE(u8, uint8_t, u64, uint64_t)
LOAD_STORE(i32, int32_t, i64, uint64_t)
LOAD_STORE(u32, uint32_t, u64, uint64_t)
LOAD_STORE(i64, int64_t, i64, int64_t)
LOAD_STORE(u64, uint64_t, u64, uint64_t)
LOAD_STORE(f32, float, f32, float)
LOAD_STORE(f64, double, f64, double)

#define LOAD_STORE_SMALL(name, type, format)                                                                           \
	static void load_##name(union wide *to, const void *from, size_t count)                                        \
	{                                                                                                              \
		const type *in = from;                                                                                 \
                                                                                                                       \
		for (size_t i = 0; i < count; i++)                                                                     \
			to->f32[i] = small_float_decode(in[i], &(format));                                             \
	}                                                                                                              \
	static void store_##name(void *to, const union wide *from, size_t count)                                       \
	{                                                                                                              \
		type *out = to;                                                                                        \
                                                                                                                       \
		for (size_t i = 0; i < count; i++)                                                                     \
			out[i] = (type)small_float_encode(from->f32[i], &(format));                                    \
	}

LOAD_STORE_SMALL(f16, uint16_t, small_float16)
LOAD_STORE_SMALL(bf16, uint16_t, small_bfloat16)
LOAD_STORE_SMALL(e4m3, uint8_t, small_e4m3)
LOAD_STORE_SMALL(e5m2, uint8_t, small_e5m2)

static const struct number {
	const char *name;
	size_t size;
	enum wide_kind wide;
	void (*load)(union wide *to, const void *from, size_t count);
	void (*store)(void *to, const union wide *from, size_t count);
} numbers[ncclNumTypes] = {
	[ncclInt8] = { "ncclInt8", 1, WIDE_I64, load_i8, store_i8 },
	[ncclUint8] = { "Unknown", 1, WIDE_U64, load_u8, store_u8 },
	[ncclInt32] = { "ncclInt32", 4, WIDE_I64, load_i32, store_i32 },
	[ncclUint32] = { "ncclUint32", 4, WIDE_U64, load_u32, store_u32 },
	[ncclInt64] = { "ncclInt64", 8, WIDE_I64, load_i64, store_i64 },
	[ncclUint64] = { "ncclUint64", 8, WIDE_U64, load_u64, store_u64 },
	[ncclFloat16] = { "ncclFloat16", 2, WIDE_F32, load_f16, store_f16 },
	[ncclFloat32] = { "ncclFloat32", 4, WIDE_F32, load_f32, store_f32 },
	[ncclFloat64] = { "ncclFloat64", 8, WIDE_F64, load_f64, store_f64 },
	[ncclBfloat16] = { "ncclBfloat16", 2, WIDE_F32, load_bf16, store_bf16 },
	[ncclFloat8e4m3] = { "ncclFloat8e4m3", 1, WIDE_F32, load_e4m3, store_e4m3 },
	[ncclFloat8e5m2] = { "ncclFloat8e5m2", 1, WIDE_F32, load_e5m2, store_e5m2 },
};

size_t number_size(ncclDataType_t type)
{
	return (unsigned int)type < ncclNumTypes ? numbers[type].size : 0;
}

const char *number_name(ncclDataType_t type)
{
	return (unsigned int)type < ncclNumTypes ? numbers[type].name : "Unknown";
}

/* A loop of its own for each operation is one that the compiler makes of vector instructions. */
#define COMBINE_EACH(type, value)                                                                                      \
	for (size_t i = 0; i < count; i++) {                                                                           \
		type a = sum[i], b = in[i];                                                                            \
		sum[i] = (type)(value);                                                                                \
	}

/* A NaN loses against a number in minimum and maximum, as in fmin and fmax. calculation: where overflow wraps. */
#define COMBINE(name, type, calculation)                                                                               \
	static void combine_##name(type *restrict sum, const type *restrict in, size_t count, ncclRedOp_t op)          \
	{                                                                                                              \
		if (op == ncclProd)                                                                                    \
			COMBINE_EACH(type, (calculation)a * (calculation)b)                                            \
		else if (op == ncclMax)                                                                                \
			COMBINE_EACH(type, a != a || b > a ? b : a)                                                    \
		else if (op == ncclMin)                                                                                \
			COMBINE_EACH(type, a != a || b < a ? b : a)                                                    \
		else                                                                                                   \
			COMBINE_EACH(type, (calculation)a + (calculation)b)                                            \
	}                                                                                                              \
	static void divide_##name(type *sum, size_t count, int by)                                                     \
	{                                                                                                              \
		for (size_t i = 0; i < count; i++)                                                                     \
			sum[i] = sum[i] / (type)by;                                                                    \
	}

COMBINE(i64, int64_t, uint64_t)
COMBINE(u64, uint64_t, uint64_t)
COMBINE(f32, float, float)
COMBINE(f64, double, double)

static void combine(enum wide_kind kind, union wide *sum, const union wide *in, size_t count, ncclRedOp_t op)
{
	switch (kind) {
	case WIDE_I64:
		combine_i64(sum->i64, in->i64, count, op);
		break;
	case WIDE_U64:
		combine_u64(sum->u64, in->u64, count, op);
		break;
	case WIDE_F32:
		combine_f32(sum->f32, in->f32, count, op);
		break;
	case WIDE_F64:
		combine_f64(sum->f64, in->f64, count, op);
		break;
	}
}

/* A sum of integers is divided as the narrow type holds it: wrapped first. */
static void divide(const struct number *number, union wide *sum, size_t count, int by)
{
	_Alignas(8) unsigned char narrow[BLOCK * 8];

	if (number->wide == WIDE_I64 || number->wide == WIDE_U64) {
		number->store(narrow, sum, count);
		number->load(sum, narrow, count);
	}
	switch (number->wide) {
	case WIDE_I64:
		divide_i64(sum->i64, count, by);
		break;
	case WIDE_U64:
		divide_u64(sum->u64, count, by);
		break;
	case WIDE_F32:
		divide_f32(sum->f32, count, by);
		break;
	case WIDE_F64:
		divide_f64(sum->f64, count, by);
		break;
	}
}

void number_reduce(ncclDataType_t type, ncclRedOp_t op, void *out, const void *const *in, int inputs, size_t count)
{
	const struct number *number = &numbers[type];
	union wide sum, next;

	for (size_t at = 0; at < count; at += BLOCK) {
		size_t block = count - at < BLOCK ? count - at : BLOCK;
		size_t offset = at * number->size;
		number->load(&sum, (const char *)in[0] + offset, block);
		for (int i = 1; i < inputs; i++) {
			number->load(&next, (const char *)in[i] + offset, block);
			combine(number->wide, &sum, &next, block, op);
		}
		if (op == ncclAvg)
			divide(number, &sum, block, inputs);
		number->store((char *)out + offset, &sum, block);
	}
}

void number_scale(ncclDataType_t type, void *out, const void *in, const void *factor, size_t count)
{
	const struct number *number = &numbers[type];
	_Alignas(8) unsigned char factors[BLOCK * 8];
	union wide product, wide_factors;

	for (size_t i = 0; i < BLOCK; i++)
		memcpy(factors + i * number->size, factor, number->size);
	number->load(&wide_factors, factors, BLOCK);
	for (size_t at = 0; at < count; at += BLOCK) {
		size_t block = count - at < BLOCK ? count - at : BLOCK;
		size_t offset = at * number->size;
		number->load(&product, (const char *)in + offset, block);
		combine(number->wide, &product, &wide_factors, block, ncclProd);
		number->store((char *)out + offset, &product, block);
	}
}
