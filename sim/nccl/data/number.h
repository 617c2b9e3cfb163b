/* SPDX-License-Identifier: MIT */
/* NCCL's data types and reductions on CPUs. */
#ifndef SIM_NCCL_DATA_NUMBER_H
#define SIM_NCCL_DATA_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include <nccl.h>

/* Bytes of one element; 0: no such type. */
size_t number_size(ncclDataType_t type);
/* As NCCL names the type to profilers: ncclUint8 is "Unknown" there. */
const char *number_name(ncclDataType_t type);

/*
 * out[i] = in[0][i] op … op in[inputs - 1][i], in that order on every rank, so that all get the same bits. Floating
 * point narrower than 32 bits is computed in float and rounded once. ncclAvg divides the sum by inputs. out may be one
 * of the inputs.
 */
void number_reduce(ncclDataType_t type, ncclRedOp_t op, void *out, const void *const *in, int inputs, size_t count);

/* Of an operator that a program made: what a rank multiplies its elements by before they are reduced. */
struct factor {
	bool used;
	const void *device; /* read while the collective runs; NULL: the value below */
	uint64_t value;     /* its first bytes are one element */
};

/* out[i] = in[i] * *factor, rounded to the type; out may be in. */
void number_scale(ncclDataType_t type, void *out, const void *in, const void *factor, size_t count);

/* Floating point of 8 or 16 bits: 1 sign, then exponent, then mantissa. */
struct small_float {
	uint32_t mantissa_bits;
	int32_t least_exponent; /* of normal numbers */
	uint32_t largest;       /* largest finite value, without sign */
	uint32_t infinity;      /* 0: the type has none, overflow becomes the largest finite value */
	uint32_t nan;
	uint32_t sign;
};

extern const struct small_float small_float16, small_bfloat16, small_e4m3, small_e5m2;

float small_float_decode(uint32_t bits, const struct small_float *format);
/* Rounds to nearest, ties to even. The 8-bit types saturate, as CUDA's conversions do. */
uint32_t small_float_encode(float value, const struct small_float *format);

#endif
