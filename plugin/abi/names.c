/* SPDX-License-Identifier: MIT */
#include "plugin/abi/names.h"

#include <stddef.h>
#include <string.h>

#include <rankwatch/operation.h>

struct name {
	const char *text;
	uint8_t value;
};

static const struct name functions[] = {
	{ "AllReduce", RW_FUNCTION_ALL_REDUCE },
	{ "AllGather", RW_FUNCTION_ALL_GATHER },
	{ "ReduceScatter", RW_FUNCTION_REDUCE_SCATTER },
	{ "Send", RW_FUNCTION_SEND },
	{ "Recv", RW_FUNCTION_RECV },
	{ "Broadcast", RW_FUNCTION_BROADCAST },
	{ "AlltoAll", RW_FUNCTION_ALL_TO_ALL },
	{ "Reduce", RW_FUNCTION_REDUCE },
	{ "Gather", RW_FUNCTION_GATHER },
	{ "Scatter", RW_FUNCTION_SCATTER },
	{ "SendRecv", RW_FUNCTION_SEND_RECV },
	{ NULL, RW_FUNCTION_UNKNOWN },
};

static const struct name dtypes[] = {
	{ "ncclBfloat16", RW_DTYPE_BFLOAT16 },
	{ "ncclFloat32", RW_DTYPE_FLOAT32 },
	{ "Unknown", RW_DTYPE_UINT8 },
	{ "ncclInt8", RW_DTYPE_INT8 },
	{ "ncclFloat16", RW_DTYPE_FLOAT16 },
	{ "ncclInt64", RW_DTYPE_INT64 },
	{ "ncclFloat8e4m3", RW_DTYPE_FLOAT8_E4M3 },
	{ "ncclFloat8e5m2", RW_DTYPE_FLOAT8_E5M2 },
	{ "ncclFloat64", RW_DTYPE_FLOAT64 },
	{ "ncclInt32", RW_DTYPE_INT32 },
	{ "ncclUint8", RW_DTYPE_UINT8 },
	{ "ncclUint32", RW_DTYPE_UINT32 },
	{ "ncclUint64", RW_DTYPE_UINT64 },
	{ NULL, RW_DTYPE_UNKNOWN },
};

static const struct name algorithms[] = {
	{ "RING", RW_ALGORITHM_RING },
	{ "NVLS", RW_ALGORITHM_NVLS },
	{ "TREE", RW_ALGORITHM_TREE },
	{ "NVLS_TREE", RW_ALGORITHM_NVLS_TREE },
	{ "PAT", RW_ALGORITHM_PAT },
	{ "COLLNET_DIRECT", RW_ALGORITHM_COLLNET_DIRECT },
	{ "COLLNET_CHAIN", RW_ALGORITHM_COLLNET_CHAIN },
	{ NULL, RW_ALGORITHM_UNKNOWN },
};

static const struct name protocols[] = {
	{ "SIMPLE", RW_PROTOCOL_SIMPLE },
	{ "LL", RW_PROTOCOL_LL },
	{ "LL128", RW_PROTOCOL_LL128 },
	{ NULL, RW_PROTOCOL_UNKNOWN },
};

static uint8_t find(const struct name *names, const char *text)
{
	if (!text)
		return 0;
	/* Names of one kind differ early or late: a first byte that differs saves the call. */
	while (names->text && (*names->text != *text || strcmp(names->text, text) != 0))
		names++;
	return names->value;
}

uint8_t names_function(const char *name)
{
	return find(functions, name);
}

const char *names_of_function(uint8_t function)
{
	for (const struct name *name = functions; name->text; name++)
		if (name->value == function)
			return name->text;
	return "operation";
}

uint8_t names_dtype(const char *name)
{
	return find(dtypes, name);
}

uint8_t names_algorithm(const char *name)
{
	return find(algorithms, name);
}

uint8_t names_protocol(const char *name)
{
	return find(protocols, name);
}
