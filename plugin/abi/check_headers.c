/* SPDX-License-Identifier: MIT */
/* Compares our numbers with NCCL's and CUDA's headers where they are installed. Compiles to nothing. */
#include <assert.h>

#include <rankwatch/operation.h>

#include "plugin/gpu/driver.h"

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

#if __has_include(<cuda.h>)
#include <cuda.h>

static_assert(DRIVER_HOST_REGISTER_PORTABLE == CU_MEMHOSTREGISTER_PORTABLE, "cuda.h");
static_assert(DRIVER_HOST_REGISTER_DEVICE_MAP == CU_MEMHOSTREGISTER_DEVICEMAP, "cuda.h");
static_assert(DRIVER_HOST_ALREADY_REGISTERED == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "cuda.h");
static_assert(DRIVER_CAPTURE_IMPLICIT == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "cuda.h");
static_assert(DRIVER_HOST_ALLOC_PORTABLE == CU_MEMHOSTALLOC_PORTABLE, "cuda.h");
static_assert(DRIVER_HOST_ALLOC_DEVICE_MAP == CU_MEMHOSTALLOC_DEVICEMAP, "cuda.h");
static_assert(DRIVER_STREAM_NON_BLOCKING == CU_STREAM_NON_BLOCKING, "cuda.h");
static_assert(DRIVER_EVENT_DISABLE_TIMING == CU_EVENT_DISABLE_TIMING, "cuda.h");
static_assert(DRIVER_CAPTURE_MODE_RELAXED == CU_STREAM_CAPTURE_MODE_RELAXED, "cuda.h");
static_assert(DRIVER_NO_BINARY_FOR_GPU == CUDA_ERROR_NO_BINARY_FOR_GPU, "cuda.h");
static_assert(DRIVER_POINTER_MEMORY_TYPE == CU_POINTER_ATTRIBUTE_MEMORY_TYPE, "cuda.h");
static_assert(DRIVER_POINTER_IS_MANAGED == CU_POINTER_ATTRIBUTE_IS_MANAGED, "cuda.h");
static_assert(DRIVER_MEMORY_DEVICE == CU_MEMORYTYPE_DEVICE, "cuda.h");
static_assert(DRIVER_NOT_CAPTURING == CU_STREAM_CAPTURE_STATUS_NONE, "cuda.h");
#if CUDA_VERSION >= 11070
static_assert(DRIVER_CAN_USE_64_BIT_STREAM_MEM_OPS_V1 == CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1,
	      "cuda.h");
static_assert(DRIVER_CAN_USE_64_BIT_STREAM_MEM_OPS == CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, "cuda.h");
#endif
static_assert(sizeof(CUdeviceptr) == sizeof(uint64_t), "cuda.h");
static_assert(sizeof(CUresult) == sizeof(int), "cuda.h");
#endif
