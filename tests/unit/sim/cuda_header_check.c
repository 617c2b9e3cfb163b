/* SPDX-License-Identifier: MIT */
/*
 * Facts about the driver interface. Compiled once with the stand-in's cuda.h and, where CUDA is installed, once with
 * CUDA's own, and linked with the stand-in both times: a program built with either header runs on the stand-in.
 */
#include <stddef.h>

#include <cuda.h>

#define VALUE(name, value) _Static_assert((long)(name) == (value), #name)
#define TYPE(function, ...) \
	_Static_assert(__builtin_types_compatible_p(__typeof__(&function), CUresult(*)(__VA_ARGS__)), #function)

VALUE(CUDA_SUCCESS, 0);
VALUE(CUDA_ERROR_INVALID_VALUE, 1);
VALUE(CUDA_ERROR_OUT_OF_MEMORY, 2);
VALUE(CUDA_ERROR_NOT_INITIALIZED, 3);
VALUE(CUDA_ERROR_NO_DEVICE, 100);
VALUE(CUDA_ERROR_INVALID_DEVICE, 101);
VALUE(CUDA_ERROR_INVALID_IMAGE, 200);
VALUE(CUDA_ERROR_INVALID_CONTEXT, 201);
VALUE(CUDA_ERROR_NO_BINARY_FOR_GPU, 209);
VALUE(CUDA_ERROR_INVALID_PTX, 218);
VALUE(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, 303);
VALUE(CUDA_ERROR_OPERATING_SYSTEM, 304);
VALUE(CUDA_ERROR_INVALID_HANDLE, 400);
VALUE(CUDA_ERROR_NOT_FOUND, 500);
VALUE(CUDA_ERROR_NOT_READY, 600);
VALUE(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712);
VALUE(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713);
VALUE(CUDA_ERROR_LAUNCH_FAILED, 719);
VALUE(CUDA_ERROR_NOT_SUPPORTED, 801);
VALUE(CUDA_ERROR_ECC_UNCORRECTABLE, 214);
VALUE(CUDA_ERROR_ILLEGAL_STATE, 401);
VALUE(CUDA_ERROR_ILLEGAL_ADDRESS, 700);
VALUE(CUDA_ERROR_LAUNCH_TIMEOUT, 702);
VALUE(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709);
VALUE(CUDA_ERROR_ASSERT, 710);
VALUE(CUDA_ERROR_HARDWARE_STACK_ERROR, 714);
VALUE(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715);
VALUE(CUDA_ERROR_MISALIGNED_ADDRESS, 716);
VALUE(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717);
VALUE(CUDA_ERROR_INVALID_PC, 718);
VALUE(CUDA_ERROR_NOT_PERMITTED, 800);
VALUE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900);
VALUE(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901);
VALUE(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902);
VALUE(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903);
VALUE(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904);
VALUE(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905);
VALUE(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906);
VALUE(CUDA_ERROR_CAPTURED_EVENT, 907);
VALUE(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908);
VALUE(CUDA_ERROR_UNKNOWN, 999);

VALUE(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1);
VALUE(CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10);
VALUE(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13);
VALUE(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16);
VALUE(CU_DEVICE_ATTRIBUTE_INTEGRATED, 18);
VALUE(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 19);
VALUE(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 31);
VALUE(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 33);
VALUE(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 34);
VALUE(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 40);
VALUE(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 41);
VALUE(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 50);
VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75);
VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76);
VALUE(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 78);
VALUE(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 91);
VALUE(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 99);
VALUE(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 122);
VALUE(CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 123);

VALUE(CU_STREAM_NON_BLOCKING, 1);
VALUE(CU_EVENT_BLOCKING_SYNC, 1);
VALUE(CU_EVENT_DISABLE_TIMING, 2);
VALUE(CU_EVENT_INTERPROCESS, 4);
VALUE(CU_STREAM_WAIT_VALUE_GEQ, 0);
VALUE(CU_STREAM_WAIT_VALUE_EQ, 1);
VALUE(CU_STREAM_WAIT_VALUE_AND, 2);
VALUE(CU_STREAM_WAIT_VALUE_NOR, 3);
VALUE(CU_STREAM_WAIT_VALUE_FLUSH, 1 << 30);
VALUE(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, 1);
VALUE(CU_STREAM_MEM_OP_WAIT_VALUE_32, 1);
VALUE(CU_STREAM_MEM_OP_WRITE_VALUE_32, 2);
VALUE(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, 3);
VALUE(CU_STREAM_MEM_OP_WAIT_VALUE_64, 4);
VALUE(CU_STREAM_MEM_OP_WRITE_VALUE_64, 5);
VALUE(CU_STREAM_MEM_OP_BARRIER, 6);
VALUE(CU_MEMHOSTALLOC_PORTABLE, 1);
VALUE(CU_MEMHOSTALLOC_DEVICEMAP, 2);
VALUE(CU_MEMHOSTALLOC_WRITECOMBINED, 4);
VALUE(CU_MEMHOSTREGISTER_PORTABLE, 1);
VALUE(CU_MEMHOSTREGISTER_DEVICEMAP, 2);
VALUE(CU_MEMHOSTREGISTER_IOMEMORY, 4);
VALUE(CU_MEMHOSTREGISTER_READ_ONLY, 8);
VALUE(CU_POINTER_ATTRIBUTE_CONTEXT, 1);
VALUE(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2);
VALUE(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 3);
VALUE(CU_POINTER_ATTRIBUTE_HOST_POINTER, 4);
VALUE(CU_POINTER_ATTRIBUTE_BUFFER_ID, 7);
VALUE(CU_POINTER_ATTRIBUTE_IS_MANAGED, 8);
VALUE(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9);
VALUE(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11);
VALUE(CU_POINTER_ATTRIBUTE_RANGE_SIZE, 12);
VALUE(CU_POINTER_ATTRIBUTE_MAPPED, 13);
VALUE(CU_MEMORYTYPE_HOST, 1);
VALUE(CU_MEMORYTYPE_DEVICE, 2);
VALUE(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0);
VALUE(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1);
VALUE(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3);
VALUE(CU_FUNC_ATTRIBUTE_NUM_REGS, 4);
VALUE(CU_STREAM_CAPTURE_STATUS_NONE, 0);
VALUE(CU_STREAM_CAPTURE_STATUS_ACTIVE, 1);
VALUE(CU_STREAM_CAPTURE_STATUS_INVALIDATED, 2);
VALUE(CU_STREAM_CAPTURE_MODE_GLOBAL, 0);
VALUE(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1);
VALUE(CU_STREAM_CAPTURE_MODE_RELAXED, 2);
VALUE(CU_STREAM_ADD_CAPTURE_DEPENDENCIES, 0);
VALUE(CU_STREAM_SET_CAPTURE_DEPENDENCIES, 1);
VALUE(CU_EVENT_RECORD_EXTERNAL, 1);
VALUE(CU_EVENT_WAIT_EXTERNAL, 1);
VALUE(CU_GRAPH_NODE_TYPE_KERNEL, 0);
VALUE(CU_GRAPH_NODE_TYPE_MEMCPY, 1);
VALUE(CU_GRAPH_NODE_TYPE_MEMSET, 2);
VALUE(CU_GRAPH_NODE_TYPE_HOST, 3);
VALUE(CU_GRAPH_NODE_TYPE_GRAPH, 4);
VALUE(CU_GRAPH_NODE_TYPE_EMPTY, 5);
VALUE(CU_GRAPH_NODE_TYPE_WAIT_EVENT, 6);
VALUE(CU_GRAPH_NODE_TYPE_EVENT_RECORD, 7);
VALUE(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, 12);
VALUE(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH, 1);
VALUE(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, 2);
VALUE(CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, 4);
VALUE(CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY, 8);
VALUE(CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, 1);
VALUE(CU_GRAPH_USER_OBJECT_MOVE, 1);
VALUE(CU_GET_PROC_ADDRESS_LEGACY_STREAM, 1);
VALUE(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, 2);
VALUE(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, 1);
VALUE(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, 2);

VALUE(sizeof(CUuuid), 16);
VALUE(sizeof(CUdeviceptr), 8);
VALUE(sizeof(CUstreamBatchMemOpParams), 48);
VALUE(offsetof(CUstreamBatchMemOpParams, waitValue.address), 8);
VALUE(offsetof(CUstreamBatchMemOpParams, waitValue.value64), 16);
VALUE(offsetof(CUstreamBatchMemOpParams, waitValue.flags), 24);
VALUE(offsetof(CUstreamBatchMemOpParams, writeValue.address), 8);
VALUE(offsetof(CUstreamBatchMemOpParams, writeValue.value64), 16);
VALUE(offsetof(CUstreamBatchMemOpParams, writeValue.flags), 24);
VALUE(sizeof(CUgraphEdgeData), 8);
VALUE(offsetof(CUgraphEdgeData, type), 2);
VALUE(sizeof(CUlaunchAttribute), 72);
VALUE(offsetof(CUlaunchAttribute, value), 8);
VALUE(sizeof(CUlaunchConfig), 56);
VALUE(offsetof(CUlaunchConfig, sharedMemBytes), 24);
VALUE(offsetof(CUlaunchConfig, hStream), 32);
VALUE(offsetof(CUlaunchConfig, attrs), 40);
VALUE(offsetof(CUlaunchConfig, numAttrs), 48);

TYPE(cuDeviceGetUuid, CUuuid *, CUdevice);
TYPE(cuDeviceGetPCIBusId, char *, int, CUdevice);
TYPE(cuDeviceGetAttribute, int *, CUdevice_attribute, CUdevice);
TYPE(cuDevicePrimaryCtxRetain, CUcontext *, CUdevice);
TYPE(cuDevicePrimaryCtxSetFlags, CUdevice, unsigned int);
TYPE(cuCtxGetFlags, unsigned int *);
TYPE(cuStreamCreateWithPriority, CUstream *, unsigned int, int);
TYPE(cuStreamWaitEvent, CUstream, CUevent, unsigned int);
TYPE(cuEventElapsedTime, float *, CUevent, CUevent);
TYPE(cuMemAlloc, CUdeviceptr *, size_t);
TYPE(cuMemHostRegister, void *, size_t, unsigned int);
TYPE(cuMemHostGetDevicePointer, CUdeviceptr *, void *, unsigned int);
TYPE(cuMemcpyHtoDAsync, CUdeviceptr, const void *, size_t, CUstream);
TYPE(cuMemsetD32Async, CUdeviceptr, unsigned int, size_t, CUstream);
TYPE(cuStreamWriteValue64, CUstream, CUdeviceptr, cuuint64_t, unsigned int);
TYPE(cuStreamWaitValue32, CUstream, CUdeviceptr, cuuint32_t, unsigned int);
TYPE(cuStreamBatchMemOp, CUstream, unsigned int, CUstreamBatchMemOpParams *, unsigned int);
TYPE(cuModuleLoadDataEx, CUmodule *, const void *, unsigned int, CUjit_option *, void **);
TYPE(cuLaunchKernelEx, const CUlaunchConfig *, CUfunction, void **, void **);
TYPE(cuStreamBeginCapture, CUstream, CUstreamCaptureMode);
TYPE(cuStreamEndCapture, CUstream, CUgraph *);
TYPE(cuStreamGetCaptureInfo, CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *, const CUgraphNode **,
     const CUgraphEdgeData **, size_t *);
TYPE(cuStreamUpdateCaptureDependencies, CUstream, CUgraphNode *, const CUgraphEdgeData *, size_t, unsigned int);
TYPE(cuStreamGetPriority, CUstream, int *);
TYPE(cuStreamGetFlags, CUstream, unsigned int *);
TYPE(cuStreamGetId, CUstream, unsigned long long *);
TYPE(cuStreamGetDevice, CUstream, CUdevice *);
TYPE(cuEventRecordWithFlags, CUevent, CUstream, unsigned int);
TYPE(cuGraphInstantiate, CUgraphExec *, CUgraph, unsigned long long);
TYPE(cuGraphUpload, CUgraphExec, CUstream);
TYPE(cuGraphLaunch, CUgraphExec, CUstream);
TYPE(cuGraphGetNodes, CUgraph, CUgraphNode *, size_t *);
TYPE(cuGraphNodeGetType, CUgraphNode, CUgraphNodeType *);
TYPE(cuGraphNodeGetDependencies, CUgraphNode, CUgraphNode *, CUgraphEdgeData *, size_t *);
TYPE(cuUserObjectCreate, CUuserObject *, void *, CUhostFn, unsigned int, unsigned int);
TYPE(cuGraphRetainUserObject, CUgraph, CUuserObject, unsigned int, unsigned int);
TYPE(cuLaunchHostFunc, CUstream, CUhostFn, void *);
TYPE(cuPointerGetAttributes, unsigned int, CUpointer_attribute *, void **, CUdeviceptr);
TYPE(cuGetProcAddress, const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

/* Every name that the header gives must resolve in the stand-in. */
static void *const functions[] = {
	cuInit,
	cuDriverGetVersion,
	cuGetErrorName,
	cuGetErrorString,
	cuGetProcAddress,
	cuDeviceGet,
	cuDeviceGetCount,
	cuDeviceGetName,
	cuDeviceGetUuid,
	cuDeviceGetPCIBusId,
	cuDeviceGetAttribute,
	cuDeviceTotalMem,
	cuDevicePrimaryCtxRetain,
	cuDevicePrimaryCtxRelease,
	cuDevicePrimaryCtxReset,
	cuDevicePrimaryCtxGetState,
	cuDevicePrimaryCtxSetFlags,
	cuCtxCreate,
	cuCtxDestroy,
	cuCtxGetFlags,
	cuCtxSetCurrent,
	cuCtxGetCurrent,
	cuCtxGetDevice,
	cuCtxPushCurrent,
	cuCtxPopCurrent,
	cuCtxSynchronize,
	cuCtxGetStreamPriorityRange,
	cuStreamCreate,
	cuStreamCreateWithPriority,
	cuStreamDestroy,
	cuStreamQuery,
	cuStreamSynchronize,
	cuStreamWaitEvent,
	cuStreamIsCapturing,
	cuStreamGetCaptureInfo,
	cuStreamGetCtx,
	cuThreadExchangeStreamCaptureMode,
	cuEventCreate,
	cuEventRecord,
	cuEventQuery,
	cuEventSynchronize,
	cuEventElapsedTime,
	cuEventDestroy,
	cuMemGetInfo,
	cuMemAlloc,
	cuMemFree,
	cuMemAllocHost,
	cuMemHostAlloc,
	cuMemFreeHost,
	cuMemHostRegister,
	cuMemHostUnregister,
	cuMemHostGetDevicePointer,
	cuPointerGetAttribute,
	cuPointerGetAttributes,
	cuMemcpy,
	cuMemcpyHtoD,
	cuMemcpyDtoH,
	cuMemcpyDtoD,
	cuMemcpyAsync,
	cuMemcpyHtoDAsync,
	cuMemcpyDtoHAsync,
	cuMemcpyDtoDAsync,
	cuMemsetD8,
	cuMemsetD32,
	cuMemsetD8Async,
	cuMemsetD32Async,
	cuStreamWriteValue32,
	cuStreamWaitValue32,
	cuStreamWriteValue64,
	cuStreamWaitValue64,
	cuStreamBatchMemOp,
	cuModuleLoadData,
	cuModuleLoadDataEx,
	cuModuleUnload,
	cuModuleGetFunction,
	cuFuncLoad,
	cuFuncGetAttribute,
	cuLaunchKernel,
	cuLaunchKernelEx,
	cuLaunchHostFunc,
	cuStreamBeginCapture,
	cuStreamEndCapture,
	cuStreamUpdateCaptureDependencies,
	cuStreamGetPriority,
	cuStreamGetFlags,
	cuStreamGetId,
	cuStreamGetDevice,
	cuEventRecordWithFlags,
	cuGraphInstantiate,
	cuGraphUpload,
	cuGraphLaunch,
	cuGraphExecDestroy,
	cuGraphDestroy,
	cuGraphGetNodes,
	cuGraphNodeGetType,
	cuGraphNodeGetDependencies,
	cuUserObjectCreate,
	cuUserObjectRetain,
	cuUserObjectRelease,
	cuGraphRetainUserObject,
	cuGraphReleaseUserObject,
};

int main(void)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		if (!functions[i])
			return 1;
	}
	if (CU_STREAM_LEGACY != (CUstream)1 || CU_STREAM_PER_THREAD != (CUstream)2)
		return 1;
	return cuInit(0) == CUDA_SUCCESS ? 0 : 1;
}
