/* SPDX-License-Identifier: MIT */
#include "plugin/nccl/names.h"

#include <stdbool.h>
#include <stddef.h>

#include <rankwatch/operation.h>

/* The common names first. */
#define FUNCTIONS(X)                                                                                                   \
	X("AllReduce", RW_FUNCTION_ALL_REDUCE)                                                                         \
	X("AllGather", RW_FUNCTION_ALL_GATHER)                                                                         \
	X("ReduceScatter", RW_FUNCTION_REDUCE_SCATTER)                                                                 \
	X("Send", RW_FUNCTION_SEND)                                                                                    \
	X("Recv", RW_FUNCTION_RECV)                                                                                    \
	X("Broadcast", RW_FUNCTION_BROADCAST)                                                                          \
	X("AlltoAll", RW_FUNCTION_ALL_TO_ALL)                                                                          \
	X("Reduce", RW_FUNCTION_REDUCE)                                                                                \
	X("Gather", RW_FUNCTION_GATHER)                                                                                \
	X("Scatter", RW_FUNCTION_SCATTER)                                                                              \
	X("SendRecv", RW_FUNCTION_SEND_RECV)

/* Behind "nccl". */
#define DTYPES(X)                                                                                                      \
	X("Bfloat16", RW_DTYPE_BFLOAT16)                                                                               \
	X("Float32", RW_DTYPE_FLOAT32)                                                                                 \
	X("Int8", RW_DTYPE_INT8)                                                                                       \
	X("Float16", RW_DTYPE_FLOAT16)                                                                                 \
	X("Int64", RW_DTYPE_INT64)                                                                                     \
	X("Float8e4m3", RW_DTYPE_FLOAT8_E4M3)                                                                          \
	X("Float8e5m2", RW_DTYPE_FLOAT8_E5M2)                                                                          \
	X("Float64", RW_DTYPE_FLOAT64)                                                                                 \
	X("Int32", RW_DTYPE_INT32)                                                                                     \
	X("Uint8", RW_DTYPE_UINT8)                                                                                     \
	X("Uint32", RW_DTYPE_UINT32)                                                                                   \
	X("Uint64", RW_DTYPE_UINT64)

#define ALGORITHMS(X)                                                                                                  \
	X("RING", RW_ALGORITHM_RING)                                                                                   \
	X("NVLS", RW_ALGORITHM_NVLS)                                                                                   \
	X("TREE", RW_ALGORITHM_TREE)                                                                                   \
	X("NVLS_TREE", RW_ALGORITHM_NVLS_TREE)                                                                         \
	X("PAT", RW_ALGORITHM_PAT)                                                                                     \
	X("COLLNET_DIRECT", RW_ALGORITHM_COLLNET_DIRECT)                                                               \
	X("COLLNET_CHAIN", RW_ALGORITHM_COLLNET_CHAIN)

#define PROTOCOLS(X)                                                                                                   \
	X("SIMPLE", RW_PROTOCOL_SIMPLE)                                                                                \
	X("LL", RW_PROTOCOL_LL)                                                                                        \
	X("LL128", RW_PROTOCOL_LL128)

/* Two instructions a byte, unrolled: a third of what four calls of strcmp() took. Never reads behind the end of text,
 * which is the first byte to differ. */
static inline __attribute__((always_inline)) bool begins(const char *text, const char *name, size_t size)
{
#pragma GCC unroll 16
	for (size_t i = 0; i < size; i++)
		if (text[i] != name[i])
			return false;
	return true;
}

#define RETURN_IF_NAMED(name, value)                                                                                   \
	if (begins(text, name, sizeof(name)))                                                                          \
		return value;

uint8_t names_function(const char *text)
{
	if (text) {
		FUNCTIONS(RETURN_IF_NAMED)
	}
	return RW_FUNCTION_UNKNOWN;
}

static uint8_t dtype_behind_prefix(const char *text)
{
	DTYPES(RETURN_IF_NAMED)
	return RW_DTYPE_UNKNOWN;
}

uint8_t names_dtype(const char *text)
{
	static const char prefix[] = "nccl";

	if (!text)
		return RW_DTYPE_UNKNOWN;
	if (begins(text, prefix, sizeof(prefix) - 1))
		return dtype_behind_prefix(text + sizeof(prefix) - 1);
	RETURN_IF_NAMED("Unknown", RW_DTYPE_UINT8)
	return RW_DTYPE_UNKNOWN;
}

uint8_t names_algorithm(const char *text)
{
	if (text) {
		ALGORITHMS(RETURN_IF_NAMED)
	}
	return RW_ALGORITHM_UNKNOWN;
}

uint8_t names_protocol(const char *text)
{
	if (text) {
		PROTOCOLS(RETURN_IF_NAMED)
	}
	return RW_PROTOCOL_UNKNOWN;
}

const char *names_of_function(uint8_t function)
{
#define NAME_OF(name, value) [value] = name,
	static const char *const names[RW_FUNCTION_COUNT] = { FUNCTIONS(NAME_OF) };
	const char *name = names[function % RW_FUNCTION_COUNT];

	return name ? name : "operation";
}
