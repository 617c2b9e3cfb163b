/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <rankwatch/operation.h>

#include "plugin/abi/names.h"

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
