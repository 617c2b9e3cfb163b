/* SPDX-License-Identifier: MIT */
/* Compares our numbers with CUDA's header where the compiler finds it; tests/unit/plugin shows it to it. Compiles to
 * nothing. */
#include <assert.h>

#include "plugin/gpu/driver.h"

#if __has_include(<cuda.h>)
#include <cuda.h>

static_assert((int)DRIVER_HOST_REGISTER_PORTABLE == (int)CU_MEMHOSTREGISTER_PORTABLE, "cuda.h");
static_assert((int)DRIVER_HOST_REGISTER_DEVICE_MAP == (int)CU_MEMHOSTREGISTER_DEVICEMAP, "cuda.h");
static_assert((int)DRIVER_HOST_ALREADY_REGISTERED == (int)CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "cuda.h");
static_assert((int)DRIVER_CAPTURE_IMPLICIT == (int)CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "cuda.h");
static_assert((int)DRIVER_STREAM_NON_BLOCKING == (int)CU_STREAM_NON_BLOCKING, "cuda.h");
static_assert((int)DRIVER_CAPTURE_MODE_RELAXED == (int)CU_STREAM_CAPTURE_MODE_RELAXED, "cuda.h");
static_assert((int)DRIVER_NO_BINARY_FOR_GPU == (int)CUDA_ERROR_NO_BINARY_FOR_GPU, "cuda.h");
static_assert((int)DRIVER_POINTER_MEMORY_TYPE == (int)CU_POINTER_ATTRIBUTE_MEMORY_TYPE, "cuda.h");
static_assert((int)DRIVER_POINTER_IS_MANAGED == (int)CU_POINTER_ATTRIBUTE_IS_MANAGED, "cuda.h");
static_assert((int)DRIVER_MEMORY_DEVICE == (int)CU_MEMORYTYPE_DEVICE, "cuda.h");
static_assert((int)DRIVER_NOT_CAPTURING == (int)CU_STREAM_CAPTURE_STATUS_NONE, "cuda.h");
#if CUDA_VERSION >= 11070
static_assert((int)DRIVER_CAN_USE_64_BIT_STREAM_MEM_OPS_V1 == (int)CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1,
	      "cuda.h");
static_assert((int)DRIVER_CAN_USE_64_BIT_STREAM_MEM_OPS == (int)CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
	      "cuda.h");
#endif
static_assert(sizeof(CUdeviceptr) == sizeof(uint64_t), "cuda.h");
static_assert(sizeof(CUresult) == sizeof(int), "cuda.h");
#endif
