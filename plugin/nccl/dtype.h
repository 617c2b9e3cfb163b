/* SPDX-License-Identifier: MIT */
#ifndef PLUGIN_NCCL_DTYPE_H
#define PLUGIN_NCCL_DTYPE_H

#include <stddef.h>
#include <stdint.h>

#include <rankwatch/operation.h>

/* Bytes of an element of this enum rw_dtype; 0 = type not known. Any value may come. */
static inline uint32_t dtype_size(uint8_t dtype)
{
	static const uint8_t sizes[RW_DTYPE_COUNT] = {
		[RW_DTYPE_INT8] = 1,    [RW_DTYPE_UINT8] = 1,    [RW_DTYPE_INT32] = 4,       [RW_DTYPE_UINT32] = 4,
		[RW_DTYPE_INT64] = 8,   [RW_DTYPE_UINT64] = 8,   [RW_DTYPE_FLOAT16] = 2,     [RW_DTYPE_FLOAT32] = 4,
		[RW_DTYPE_FLOAT64] = 8, [RW_DTYPE_BFLOAT16] = 2, [RW_DTYPE_FLOAT8_E4M3] = 1, [RW_DTYPE_FLOAT8_E5M2] = 1,
	};

	return sizes[dtype % RW_DTYPE_COUNT];
}

/* The enum rw_dtype of a floating type's name, as in "bfloat16" or "float8_e4m3"; RW_DTYPE_UNKNOWN: none. `length`: of
 * the name. */
uint8_t dtype_named(const char *name, size_t length);

#endif
