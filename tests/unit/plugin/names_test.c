/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rankwatch/operation.h>

#include "plugin/nccl/names.h"

Test(names, nccls_strings_become_our_numbers)
{
	cr_expect_eq(names_function("AllGather"), RW_FUNCTION_ALL_GATHER);
	cr_expect_eq(names_function("SendRecv"), RW_FUNCTION_SEND_RECV);
	cr_expect_eq(names_dtype("ncclFloat8e5m2"), RW_DTYPE_FLOAT8_E5M2);
	cr_expect_eq(names_dtype("Unknown"), RW_DTYPE_UINT8, "how the profiler interface calls ncclUint8");
	cr_expect_eq(names_algorithm("NVLS_TREE"), RW_ALGORITHM_NVLS_TREE);
	cr_expect_eq(names_protocol("LL128"), RW_PROTOCOL_LL128);
}

Test(names, the_unknown_is_0_and_null_is_unknown)
{
	cr_expect_eq(names_function("AllGatherV"), RW_FUNCTION_UNKNOWN);
	cr_expect_eq(names_function(NULL), RW_FUNCTION_UNKNOWN);
	cr_expect_eq(names_dtype("ncclFloat4"), RW_DTYPE_UNKNOWN);
	cr_expect_eq(names_algorithm(""), RW_ALGORITHM_UNKNOWN);
	cr_expect_eq(names_protocol(NULL), RW_PROTOCOL_UNKNOWN);
}

Test(names, every_name_is_its_own_and_nothing_longer_or_shorter)
{
	static const struct {
		uint8_t (*read)(const char *);
		const char *name;
		uint8_t value;
	} all[] = {
		{ names_function, "AllReduce", RW_FUNCTION_ALL_REDUCE },
		{ names_function, "AllGather", RW_FUNCTION_ALL_GATHER },
		{ names_function, "ReduceScatter", RW_FUNCTION_REDUCE_SCATTER },
		{ names_function, "Send", RW_FUNCTION_SEND },
		{ names_function, "Recv", RW_FUNCTION_RECV },
		{ names_function, "Broadcast", RW_FUNCTION_BROADCAST },
		{ names_function, "AlltoAll", RW_FUNCTION_ALL_TO_ALL },
		{ names_function, "Reduce", RW_FUNCTION_REDUCE },
		{ names_function, "Gather", RW_FUNCTION_GATHER },
		{ names_function, "Scatter", RW_FUNCTION_SCATTER },
		{ names_function, "SendRecv", RW_FUNCTION_SEND_RECV },
		{ names_dtype, "ncclInt8", RW_DTYPE_INT8 },
		{ names_dtype, "ncclUint8", RW_DTYPE_UINT8 },
		{ names_dtype, "Unknown", RW_DTYPE_UINT8 },
		{ names_dtype, "ncclInt32", RW_DTYPE_INT32 },
		{ names_dtype, "ncclUint32", RW_DTYPE_UINT32 },
		{ names_dtype, "ncclInt64", RW_DTYPE_INT64 },
		{ names_dtype, "ncclUint64", RW_DTYPE_UINT64 },
		{ names_dtype, "ncclFloat16", RW_DTYPE_FLOAT16 },
		{ names_dtype, "ncclFloat32", RW_DTYPE_FLOAT32 },
		{ names_dtype, "ncclFloat64", RW_DTYPE_FLOAT64 },
		{ names_dtype, "ncclBfloat16", RW_DTYPE_BFLOAT16 },
		{ names_dtype, "ncclFloat8e4m3", RW_DTYPE_FLOAT8_E4M3 },
		{ names_dtype, "ncclFloat8e5m2", RW_DTYPE_FLOAT8_E5M2 },
		{ names_algorithm, "RING", RW_ALGORITHM_RING },
		{ names_algorithm, "TREE", RW_ALGORITHM_TREE },
		{ names_algorithm, "NVLS", RW_ALGORITHM_NVLS },
		{ names_algorithm, "NVLS_TREE", RW_ALGORITHM_NVLS_TREE },
		{ names_algorithm, "PAT", RW_ALGORITHM_PAT },
		{ names_algorithm, "COLLNET_DIRECT", RW_ALGORITHM_COLLNET_DIRECT },
		{ names_algorithm, "COLLNET_CHAIN", RW_ALGORITHM_COLLNET_CHAIN },
		{ names_protocol, "SIMPLE", RW_PROTOCOL_SIMPLE },
		{ names_protocol, "LL", RW_PROTOCOL_LL },
		{ names_protocol, "LL128", RW_PROTOCOL_LL128 },
	};
	/* One buffer for all: what stood at the address before does not count. */
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(pages, MAP_FAILED);
	cr_assert_eq(mprotect(pages + page, page, PROT_NONE), 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		size_t size = strlen(all[i].name) + 1;
		char *at_end = pages + page - size, *longer = at_end - 1;

		cr_expect_eq(all[i].read(strcpy(at_end, all[i].name)), all[i].value, "%s", all[i].name);
		cr_expect_neq(all[i].read(strcat(strcpy(longer, all[i].name), "x")), all[i].value, "%s", longer);
		for (size_t length = 0; length < size - 1; length++) {
			char *shorter = pages + page - length - 1;

			memcpy(shorter, all[i].name, length);
			shorter[length] = '\0';
			cr_expect_neq(all[i].read(shorter), all[i].value, "%s is not %s", shorter, all[i].name);
		}
	}
}

Test(names, functions_are_called_as_nccl_calls_them)
{
	for (uint8_t function = 1; function <= RW_FUNCTION_SEND_RECV; function++)
		cr_expect_eq(names_function(names_of_function(function)), function);
	cr_expect_str_eq(names_of_function(RW_FUNCTION_UNKNOWN), "operation");
	cr_expect_str_eq(names_of_function(255), "operation");
}
