/* SPDX-License-Identifier: MIT */
/* Compares our numbers with CUDA's header where it is installed. Compiles to nothing. */
#include <assert.h>

#include "plugin/gpu/driver.h"

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
