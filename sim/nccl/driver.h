/* SPDX-License-Identifier: MIT */
/* The CUDA driver, opened at run time as NCCL does, so that whichever libcuda.so.1 the program uses is the one. */
#ifndef SIM_NCCL_DRIVER_H
#define SIM_NCCL_DRIVER_H

#include <cuda.h>
#include <nccl.h>

#define DRIVER_FUNCTIONS(X)                                                                                            \
	X(cuInit)                                                                                                      \
	X(cuGetErrorName)                                                                                              \
	X(cuDevicePrimaryCtxRetain)                                                                                    \
	X(cuDevicePrimaryCtxRelease)                                                                                   \
	X(cuDeviceGetPCIBusId)                                                                                         \
	X(cuCtxGetDevice)                                                                                              \
	X(cuCtxPushCurrent)                                                                                            \
	X(cuCtxPopCurrent)                                                                                             \
	X(cuEventCreate)                                                                                               \
	X(cuEventRecord)                                                                                               \
	X(cuEventDestroy)                                                                                              \
	X(cuStreamWaitEvent)                                                                                           \
	X(cuStreamIsCapturing)                                                                                         \
	X(cuStreamGetCaptureInfo)                                                                                      \
	X(cuStreamCreate)                                                                                              \
	X(cuStreamQuery)                                                                                               \
	X(cuStreamDestroy)                                                                                             \
	X(cuEventRecordWithFlags)                                                                                      \
	X(cuEventQuery)                                                                                                \
	X(cuLaunchHostFunc)                                                                                            \
	X(cuUserObjectCreate)                                                                                          \
	X(cuUserObjectRelease)                                                                                         \
	X(cuGraphRetainUserObject)                                                                                     \
	X(cuMemAlloc)                                                                                                  \
	X(cuMemFree)                                                                                                   \
	X(cuMemcpyAsync)                                                                                               \
	X(cuModuleLoadData)                                                                                            \
	X(cuModuleUnload)                                                                                              \
	X(cuModuleGetFunction)                                                                                         \
	X(cuLaunchKernelEx)

struct driver {
#define DRIVER_MEMBER(name) __typeof__(name) *name;
	DRIVER_FUNCTIONS(DRIVER_MEMBER)
#undef DRIVER_MEMBER
};

extern struct driver driver;

/* Opens the driver once; says why when it cannot. */
ncclResult_t driver_open(void);
/* Logs a failed driver call and turns it into NCCL's error. */
ncclResult_t driver_check(CUresult result, const char *call);

#define DRIVER(call, ...) driver_check(driver.call(__VA_ARGS__), #call)

#endif
