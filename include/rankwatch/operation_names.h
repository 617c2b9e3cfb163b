/* SPDX-License-Identifier: MIT */
/* The names of functions and data types in all output for people. They are initialisers of const char *const
 * [..._COUNT]; values without a name are NULL. */
#ifndef RANKWATCH_OPERATION_NAMES_H
#define RANKWATCH_OPERATION_NAMES_H

#include <rankwatch/operation.h>

/* clang-format off */
#define RW_FUNCTION_NAMES {                                             \
		[RW_FUNCTION_ALL_GATHER] = "AllGather",                 \
		[RW_FUNCTION_ALL_REDUCE] = "AllReduce",                 \
		[RW_FUNCTION_ALL_TO_ALL] = "AllToAll",                  \
		[RW_FUNCTION_BROADCAST] = "Broadcast",                  \
		[RW_FUNCTION_GATHER] = "Gather",                        \
		[RW_FUNCTION_REDUCE] = "Reduce",                        \
		[RW_FUNCTION_REDUCE_SCATTER] = "ReduceScatter",         \
		[RW_FUNCTION_SCATTER] = "Scatter",                      \
		[RW_FUNCTION_SEND] = "Send",                            \
		[RW_FUNCTION_RECV] = "Recv",                            \
		[RW_FUNCTION_SEND_RECV] = "SendRecv",                   \
	}

#define RW_DTYPE_NAMES {                                                \
		[RW_DTYPE_INT8] = "int8",                               \
		[RW_DTYPE_UINT8] = "uint8",                             \
		[RW_DTYPE_INT32] = "int32",                             \
		[RW_DTYPE_UINT32] = "uint32",                           \
		[RW_DTYPE_INT64] = "int64",                             \
		[RW_DTYPE_UINT64] = "uint64",                           \
		[RW_DTYPE_FLOAT16] = "fp16",                            \
		[RW_DTYPE_FLOAT32] = "fp32",                            \
		[RW_DTYPE_FLOAT64] = "fp64",                            \
		[RW_DTYPE_BFLOAT16] = "bf16",                           \
		[RW_DTYPE_FLOAT8_E4M3] = "fp8_e4m3",                    \
		[RW_DTYPE_FLOAT8_E5M2] = "fp8_e5m2",                    \
	}
/* clang-format on */

#endif
