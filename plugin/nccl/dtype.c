/* SPDX-License-Identifier: MIT */
#include "plugin/nccl/dtype.h"

#include <string.h>
#include <strings.h>

#include <rankwatch/operation.h>

/* As PyTorch, NCCL and people name them. */
static const struct {
	const char *name;
	uint8_t dtype;
} names[] = {
	{ "float16", RW_DTYPE_FLOAT16 },         { "fp16", RW_DTYPE_FLOAT16 },
	{ "bfloat16", RW_DTYPE_BFLOAT16 },       { "bf16", RW_DTYPE_BFLOAT16 },
	{ "float32", RW_DTYPE_FLOAT32 },         { "fp32", RW_DTYPE_FLOAT32 },
	{ "float64", RW_DTYPE_FLOAT64 },         { "fp64", RW_DTYPE_FLOAT64 },
	{ "float8_e4m3", RW_DTYPE_FLOAT8_E4M3 }, { "float8_e4m3fn", RW_DTYPE_FLOAT8_E4M3 },
	{ "fp8_e4m3", RW_DTYPE_FLOAT8_E4M3 },    { "float8_e5m2", RW_DTYPE_FLOAT8_E5M2 },
	{ "fp8_e5m2", RW_DTYPE_FLOAT8_E5M2 },
};

uint8_t dtype_named(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == length && strncasecmp(names[i].name, name, length) == 0)
			return names[i].dtype;
	return RW_DTYPE_UNKNOWN;
}
