/* SPDX-License-Identifier: MIT */
/* Compares our numbers with NCCL's header where it is installed. Compiles to nothing. */
#include <assert.h>

#include <rankwatch/operation.h>

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>

static_assert(RW_DTYPE_INT8 == ncclInt8 + 1, "nccl.h");
static_assert(RW_DTYPE_UINT8 == ncclUint8 + 1, "nccl.h");
static_assert(RW_DTYPE_INT32 == ncclInt32 + 1, "nccl.h");
static_assert(RW_DTYPE_UINT32 == ncclUint32 + 1, "nccl.h");
static_assert(RW_DTYPE_INT64 == ncclInt64 + 1, "nccl.h");
static_assert(RW_DTYPE_UINT64 == ncclUint64 + 1, "nccl.h");
static_assert(RW_DTYPE_FLOAT16 == ncclFloat16 + 1, "nccl.h");
static_assert(RW_DTYPE_FLOAT32 == ncclFloat32 + 1, "nccl.h");
static_assert(RW_DTYPE_FLOAT64 == ncclFloat64 + 1, "nccl.h");
static_assert(RW_DTYPE_BFLOAT16 == ncclBfloat16 + 1, "nccl.h");
#if NCCL_VERSION_CODE >= 22400
static_assert(RW_DTYPE_FLOAT8_E4M3 == ncclFloat8e4m3 + 1, "nccl.h");
static_assert(RW_DTYPE_FLOAT8_E5M2 == ncclFloat8e5m2 + 1, "nccl.h");
#endif
static_assert(ncclSuccess == 0, "nccl.h");
#endif
