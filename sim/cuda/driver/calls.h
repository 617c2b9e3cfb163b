/* SPDX-License-Identifier: MIT */
/*
 * Every entry point of the driver, in one table: entry.c exports them and finds them for cuGetProcAddress, and
 * SIM_CUDA_FAULTS names them. The implementation of cuX is sim_cuX; entry points of earlier CUDA versions share it
 * where the parameters are the same. Entries of one name stand together, oldest first.
 */
#ifndef SIM_CUDA_DRIVER_CALLS_H
#define SIM_CUDA_DRIVER_CALLS_H

#include <cuda.h>

enum call_kind {
	CALL_FREE,   /* works always, also in a host function */
	CALL_STATE,  /* devices and contexts: works although the context is broken */
	CALL_WORK,   /* a broken context refuses it */
	CALL_UNSAFE, /* also prohibited beside a capture, see capture_check_unsafe() */
};

/*
 * (CUDA version that brought it, name, suffix of the exported symbol, implementation, kind, parameters, arguments).
 * PTDS and PTSZ: exported once more, with this ending, for programs whose stream 0 is the thread's own.
 */
/* clang-format off */
#define CALLS(CALL, PTDS, PTSZ) \
	CALL(2000, cuInit, , sim_cuInit, FREE, (unsigned int Flags), (Flags)) \
	CALL(2020, cuDriverGetVersion, , sim_cuDriverGetVersion, FREE, (int *driverVersion), (driverVersion)) \
	CALL(6000, cuGetErrorName, , sim_cuGetErrorName, FREE, (CUresult error, const char **pStr), (error, pStr)) \
	CALL(6000, cuGetErrorString, , sim_cuGetErrorString, FREE, \
		(CUresult error, const char **pStr), (error, pStr)) \
	CALL(11030, cuGetProcAddress, , sim_cuGetProcAddress_v1, FREE, \
		(const char *symbol, void **function, int version, cuuint64_t flags), \
		(symbol, function, version, flags)) \
	CALL(12000, cuGetProcAddress, _v2, sim_cuGetProcAddress, FREE, \
		(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags, \
		 CUdriverProcAddressQueryResult *symbolStatus), \
		(symbol, pfn, cudaVersion, flags, symbolStatus)) \
	CALL(2000, cuDeviceGet, , sim_cuDeviceGet, STATE, (CUdevice *device, int ordinal), (device, ordinal)) \
	CALL(2000, cuDeviceGetCount, , sim_cuDeviceGetCount, STATE, (int *count), (count)) \
	CALL(2000, cuDeviceGetName, , sim_cuDeviceGetName, STATE, \
		(char *name, int len, CUdevice dev), (name, len, dev)) \
	CALL(9020, cuDeviceGetUuid, , sim_cuDeviceGetUuid, STATE, (CUuuid *uuid, CUdevice dev), (uuid, dev)) \
	CALL(11040, cuDeviceGetUuid, _v2, sim_cuDeviceGetUuid, STATE, (CUuuid *uuid, CUdevice dev), (uuid, dev)) \
	CALL(4010, cuDeviceGetPCIBusId, , sim_cuDeviceGetPCIBusId, STATE, \
		(char *pciBusId, int len, CUdevice dev), (pciBusId, len, dev)) \
	CALL(2000, cuDeviceGetAttribute, , sim_cuDeviceGetAttribute, STATE, \
		(int *pi, CUdevice_attribute attrib, CUdevice dev), (pi, attrib, dev)) \
	CALL(3020, cuDeviceTotalMem, _v2, sim_cuDeviceTotalMem, STATE, (size_t *bytes, CUdevice dev), (bytes, dev)) \
	CALL(7000, cuDevicePrimaryCtxRetain, , sim_cuDevicePrimaryCtxRetain, STATE, \
		(CUcontext *pctx, CUdevice dev), (pctx, dev)) \
	CALL(7000, cuDevicePrimaryCtxRelease, , sim_cuDevicePrimaryCtxRelease, STATE, (CUdevice dev), (dev)) \
	CALL(11000, cuDevicePrimaryCtxRelease, _v2, sim_cuDevicePrimaryCtxRelease, STATE, (CUdevice dev), (dev)) \
	CALL(7000, cuDevicePrimaryCtxReset, , sim_cuDevicePrimaryCtxReset, STATE, (CUdevice dev), (dev)) \
	CALL(11000, cuDevicePrimaryCtxReset, _v2, sim_cuDevicePrimaryCtxReset, STATE, (CUdevice dev), (dev)) \
	CALL(7000, cuDevicePrimaryCtxGetState, , sim_cuDevicePrimaryCtxGetState, STATE, \
		(CUdevice dev, unsigned int *flags, int *active), (dev, flags, active)) \
	CALL(7000, cuDevicePrimaryCtxSetFlags, , sim_cuDevicePrimaryCtxSetFlags, STATE, \
		(CUdevice dev, unsigned int flags), (dev, flags)) \
	CALL(11000, cuDevicePrimaryCtxSetFlags, _v2, sim_cuDevicePrimaryCtxSetFlags, STATE, \
		(CUdevice dev, unsigned int flags), (dev, flags)) \
	CALL(3020, cuCtxCreate, _v2, sim_cuCtxCreate_v2, STATE, \
		(CUcontext *context, unsigned int flags, CUdevice device), (context, flags, device)) \
	CALL(12050, cuCtxCreate, _v4, sim_cuCtxCreate, STATE, \
		(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev), \
		(pctx, ctxCreateParams, flags, dev)) \
	CALL(4000, cuCtxDestroy, _v2, sim_cuCtxDestroy, STATE, (CUcontext ctx), (ctx)) \
	CALL(4000, cuCtxSetCurrent, , sim_cuCtxSetCurrent, STATE, (CUcontext ctx), (ctx)) \
	CALL(4000, cuCtxGetCurrent, , sim_cuCtxGetCurrent, STATE, (CUcontext *pctx), (pctx)) \
	CALL(2000, cuCtxGetDevice, , sim_cuCtxGetDevice, STATE, (CUdevice *device), (device)) \
	CALL(7000, cuCtxGetFlags, , sim_cuCtxGetFlags, STATE, (unsigned int *flags), (flags)) \
	CALL(4000, cuCtxPushCurrent, _v2, sim_cuCtxPushCurrent, STATE, (CUcontext ctx), (ctx)) \
	CALL(4000, cuCtxPopCurrent, _v2, sim_cuCtxPopCurrent, STATE, (CUcontext *pctx), (pctx)) \
	CALL(2000, cuCtxSynchronize, , sim_cuCtxSynchronize, UNSAFE, (void), ()) \
	CALL(5050, cuCtxGetStreamPriorityRange, , sim_cuCtxGetStreamPriorityRange, STATE, \
		(int *leastPriority, int *greatestPriority), (leastPriority, greatestPriority)) \
	CALL(2000, cuStreamCreate, , sim_cuStreamCreate, WORK, \
		(CUstream *phStream, unsigned int Flags), (phStream, Flags)) \
	CALL(5050, cuStreamCreateWithPriority, , sim_cuStreamCreateWithPriority, WORK, \
		(CUstream *phStream, unsigned int flags, int priority), (phStream, flags, priority)) \
	CALL(4000, cuStreamDestroy, _v2, sim_cuStreamDestroy, WORK, (CUstream hStream), (hStream)) \
	PTSZ(2000, cuStreamQuery, , sim_cuStreamQuery, UNSAFE, (CUstream hStream), (hStream)) \
	PTSZ(2000, cuStreamSynchronize, , sim_cuStreamSynchronize, UNSAFE, (CUstream hStream), (hStream)) \
	PTSZ(3020, cuStreamWaitEvent, , sim_cuStreamWaitEvent, WORK, \
		(CUstream hStream, CUevent hEvent, unsigned int Flags), (hStream, hEvent, Flags)) \
	PTSZ(10000, cuStreamIsCapturing, , sim_cuStreamIsCapturing, WORK, \
		(CUstream hStream, CUstreamCaptureStatus *captureStatus), (hStream, captureStatus)) \
	PTSZ(10010, cuStreamGetCaptureInfo, , sim_cuStreamGetCaptureInfo_v1, WORK, \
		(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id), (stream, status, id)) \
	PTSZ(11030, cuStreamGetCaptureInfo, _v2, sim_cuStreamGetCaptureInfo_v2, WORK, \
		(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph, \
		 const CUgraphNode **dependencies, size_t *count), \
		(stream, status, id, graph, dependencies, count)) \
	PTSZ(12030, cuStreamGetCaptureInfo, _v3, sim_cuStreamGetCaptureInfo, WORK, \
		(CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, \
		 CUgraph *graph_out, const CUgraphNode **dependencies_out, const CUgraphEdgeData **edgeData_out, \
		 size_t *numDependencies_out), \
		(hStream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out)) \
	PTSZ(9020, cuStreamGetCtx, , sim_cuStreamGetCtx, WORK, (CUstream hStream, CUcontext *pctx), (hStream, pctx)) \
	PTSZ(5050, cuStreamGetPriority, , sim_cuStreamGetPriority, WORK, \
		(CUstream hStream, int *priority), (hStream, priority)) \
	PTSZ(5050, cuStreamGetFlags, , sim_cuStreamGetFlags, WORK, \
		(CUstream hStream, unsigned int *flags), (hStream, flags)) \
	PTSZ(12000, cuStreamGetId, , sim_cuStreamGetId, WORK, \
		(CUstream hStream, unsigned long long *streamId), (hStream, streamId)) \
	PTSZ(12080, cuStreamGetDevice, , sim_cuStreamGetDevice, WORK, \
		(CUstream hStream, CUdevice *device), (hStream, device)) \
	CALL(10010, cuThreadExchangeStreamCaptureMode, , sim_cuThreadExchangeStreamCaptureMode, FREE, \
		(CUstreamCaptureMode *mode), (mode)) \
	PTSZ(10000, cuStreamBeginCapture, , sim_cuStreamBeginCapture_v1, WORK, (CUstream stream), (stream)) \
	PTSZ(10010, cuStreamBeginCapture, _v2, sim_cuStreamBeginCapture, WORK, \
		(CUstream hStream, CUstreamCaptureMode mode), (hStream, mode)) \
	PTSZ(10000, cuStreamEndCapture, , sim_cuStreamEndCapture, WORK, \
		(CUstream hStream, CUgraph *phGraph), (hStream, phGraph)) \
	PTSZ(11030, cuStreamUpdateCaptureDependencies, , sim_cuStreamUpdateCaptureDependencies_v1, WORK, \
		(CUstream stream, CUgraphNode *nodes, size_t count, unsigned int flags), \
		(stream, nodes, count, flags)) \
	PTSZ(12030, cuStreamUpdateCaptureDependencies, _v2, sim_cuStreamUpdateCaptureDependencies, WORK, \
		(CUstream hStream, CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData, \
		 size_t numDependencies, unsigned int flags), \
		(hStream, dependencies, dependencyData, numDependencies, flags)) \
	CALL(2000, cuEventCreate, , sim_cuEventCreate, WORK, \
		(CUevent *phEvent, unsigned int Flags), (phEvent, Flags)) \
	PTSZ(2000, cuEventRecord, , sim_cuEventRecord, WORK, (CUevent hEvent, CUstream hStream), (hEvent, hStream)) \
	PTSZ(11010, cuEventRecordWithFlags, , sim_cuEventRecordWithFlags, WORK, \
		(CUevent hEvent, CUstream hStream, unsigned int flags), (hEvent, hStream, flags)) \
	CALL(2000, cuEventQuery, , sim_cuEventQuery, UNSAFE, (CUevent hEvent), (hEvent)) \
	CALL(2000, cuEventSynchronize, , sim_cuEventSynchronize, UNSAFE, (CUevent hEvent), (hEvent)) \
	CALL(2000, cuEventElapsedTime, , sim_cuEventElapsedTime, WORK, \
		(float *pMilliseconds, CUevent hStart, CUevent hEnd), (pMilliseconds, hStart, hEnd)) \
	CALL(12080, cuEventElapsedTime, _v2, sim_cuEventElapsedTime, WORK, \
		(float *pMilliseconds, CUevent hStart, CUevent hEnd), (pMilliseconds, hStart, hEnd)) \
	CALL(4000, cuEventDestroy, _v2, sim_cuEventDestroy, WORK, (CUevent hEvent), (hEvent)) \
	CALL(3020, cuMemGetInfo, _v2, sim_cuMemGetInfo, WORK, (size_t *free, size_t *total), (free, total)) \
	CALL(3020, cuMemAlloc, _v2, sim_cuMemAlloc, UNSAFE, (CUdeviceptr *dptr, size_t bytesize), (dptr, bytesize)) \
	CALL(3020, cuMemFree, _v2, sim_cuMemFree, UNSAFE, (CUdeviceptr dptr), (dptr)) \
	CALL(3020, cuMemAllocHost, _v2, sim_cuMemAllocHost, UNSAFE, (void **pp, size_t bytesize), (pp, bytesize)) \
	CALL(2020, cuMemHostAlloc, , sim_cuMemHostAlloc, UNSAFE, \
		(void **pp, size_t bytesize, unsigned int Flags), (pp, bytesize, Flags)) \
	CALL(2000, cuMemFreeHost, , sim_cuMemFreeHost, UNSAFE, (void *p), (p)) \
	CALL(6050, cuMemHostRegister, _v2, sim_cuMemHostRegister, UNSAFE, \
		(void *p, size_t bytesize, unsigned int Flags), (p, bytesize, Flags)) \
	CALL(4000, cuMemHostUnregister, , sim_cuMemHostUnregister, UNSAFE, (void *p), (p)) \
	CALL(3020, cuMemHostGetDevicePointer, _v2, sim_cuMemHostGetDevicePointer, WORK, \
		(CUdeviceptr *pdptr, void *p, unsigned int Flags), (pdptr, p, Flags)) \
	CALL(4000, cuPointerGetAttribute, , sim_cuPointerGetAttribute, WORK, \
		(void *data, CUpointer_attribute attribute, CUdeviceptr ptr), (data, attribute, ptr)) \
	CALL(7000, cuPointerGetAttributes, , sim_cuPointerGetAttributes, WORK, \
		(unsigned int numAttributes, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr), \
		(numAttributes, attributes, data, ptr)) \
	PTDS(4000, cuMemcpy, , sim_cuMemcpy, UNSAFE, \
		(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount), (dst, src, ByteCount)) \
	PTDS(3020, cuMemcpyHtoD, _v2, sim_cuMemcpyHtoD, UNSAFE, \
		(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount), (dstDevice, srcHost, ByteCount)) \
	PTDS(3020, cuMemcpyDtoH, _v2, sim_cuMemcpyDtoH, UNSAFE, \
		(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount), (dstHost, srcDevice, ByteCount)) \
	PTDS(3020, cuMemcpyDtoD, _v2, sim_cuMemcpyDtoD, UNSAFE, \
		(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount), (dstDevice, srcDevice, ByteCount)) \
	PTSZ(4000, cuMemcpyAsync, , sim_cuMemcpyAsync, WORK, \
		(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), \
		(dst, src, ByteCount, hStream)) \
	PTSZ(3020, cuMemcpyHtoDAsync, _v2, sim_cuMemcpyHtoDAsync, WORK, \
		(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream), \
		(dstDevice, srcHost, ByteCount, hStream)) \
	PTSZ(3020, cuMemcpyDtoHAsync, _v2, sim_cuMemcpyDtoHAsync, WORK, \
		(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream), \
		(dstHost, srcDevice, ByteCount, hStream)) \
	PTSZ(3020, cuMemcpyDtoDAsync, _v2, sim_cuMemcpyDtoDAsync, WORK, \
		(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream), \
		(dstDevice, srcDevice, ByteCount, hStream)) \
	PTDS(3020, cuMemsetD8, _v2, sim_cuMemsetD8, UNSAFE, \
		(CUdeviceptr dstDevice, unsigned char uc, size_t N), (dstDevice, uc, N)) \
	PTDS(3020, cuMemsetD32, _v2, sim_cuMemsetD32, UNSAFE, \
		(CUdeviceptr dstDevice, unsigned int ui, size_t N), (dstDevice, ui, N)) \
	PTSZ(3020, cuMemsetD8Async, , sim_cuMemsetD8Async, WORK, \
		(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream), (dstDevice, uc, N, hStream)) \
	PTSZ(3020, cuMemsetD32Async, , sim_cuMemsetD32Async, WORK, \
		(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream), (dstDevice, ui, N, hStream)) \
	PTSZ(8000, cuStreamWriteValue32, , sim_cuStreamWriteValue32, WORK, \
		(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), \
		(stream, addr, value, flags)) \
	PTSZ(11070, cuStreamWriteValue32, _v2, sim_cuStreamWriteValue32, WORK, \
		(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), \
		(stream, addr, value, flags)) \
	PTSZ(8000, cuStreamWaitValue32, , sim_cuStreamWaitValue32, WORK, \
		(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), \
		(stream, addr, value, flags)) \
	PTSZ(11070, cuStreamWaitValue32, _v2, sim_cuStreamWaitValue32, WORK, \
		(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags), \
		(stream, addr, value, flags)) \
	PTSZ(9000, cuStreamWriteValue64, , sim_cuStreamWriteValue64, WORK, \
		(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), \
		(stream, addr, value, flags)) \
	PTSZ(11070, cuStreamWriteValue64, _v2, sim_cuStreamWriteValue64, WORK, \
		(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), \
		(stream, addr, value, flags)) \
	PTSZ(9000, cuStreamWaitValue64, , sim_cuStreamWaitValue64, WORK, \
		(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), \
		(stream, addr, value, flags)) \
	PTSZ(11070, cuStreamWaitValue64, _v2, sim_cuStreamWaitValue64, WORK, \
		(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags), \
		(stream, addr, value, flags)) \
	PTSZ(8000, cuStreamBatchMemOp, , sim_cuStreamBatchMemOp, WORK, \
		(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags), \
		(stream, count, paramArray, flags)) \
	PTSZ(11070, cuStreamBatchMemOp, _v2, sim_cuStreamBatchMemOp, WORK, \
		(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags), \
		(stream, count, paramArray, flags)) \
	CALL(2000, cuModuleLoadData, , sim_cuModuleLoadData, WORK, \
		(CUmodule *module, const void *image), (module, image)) \
	CALL(2010, cuModuleLoadDataEx, , sim_cuModuleLoadDataEx, WORK, \
		(CUmodule *module, const void *image, unsigned int numOptions, CUjit_option *options, \
		 void **optionValues), \
		(module, image, numOptions, options, optionValues)) \
	CALL(2000, cuModuleUnload, , sim_cuModuleUnload, UNSAFE, (CUmodule hmod), (hmod)) \
	CALL(2000, cuModuleGetFunction, , sim_cuModuleGetFunction, WORK, \
		(CUfunction *hfunc, CUmodule hmod, const char *name), (hfunc, hmod, name)) \
	CALL(12040, cuFuncLoad, , sim_cuFuncLoad, UNSAFE, (CUfunction function), (function)) \
	CALL(2020, cuFuncGetAttribute, , sim_cuFuncGetAttribute, WORK, \
		(int *pi, CUfunction_attribute attrib, CUfunction hfunc), (pi, attrib, hfunc)) \
	PTSZ(4000, cuLaunchKernel, , sim_cuLaunchKernel, WORK, \
		(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, \
		 unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, \
		 unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra), \
		(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, \
		 kernelParams, extra)) \
	PTSZ(11060, cuLaunchKernelEx, , sim_cuLaunchKernelEx, WORK, \
		(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra), \
		(config, f, kernelParams, extra)) \
	PTSZ(10000, cuLaunchHostFunc, , sim_cuLaunchHostFunc, WORK, \
		(CUstream hStream, CUhostFn fn, void *userData), (hStream, fn, userData)) \
	CALL(11040, cuGraphInstantiateWithFlags, , sim_cuGraphInstantiate, WORK, \
		(CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long flags), (phGraphExec, hGraph, flags)) \
	PTSZ(11010, cuGraphUpload, , sim_cuGraphUpload, WORK, \
		(CUgraphExec hGraphExec, CUstream hStream), (hGraphExec, hStream)) \
	PTSZ(10000, cuGraphLaunch, , sim_cuGraphLaunch, WORK, \
		(CUgraphExec hGraphExec, CUstream hStream), (hGraphExec, hStream)) \
	CALL(10000, cuGraphExecDestroy, , sim_cuGraphExecDestroy, WORK, (CUgraphExec hGraphExec), (hGraphExec)) \
	CALL(10000, cuGraphDestroy, , sim_cuGraphDestroy, WORK, (CUgraph hGraph), (hGraph)) \
	CALL(10000, cuGraphGetNodes, , sim_cuGraphGetNodes, WORK, \
		(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes), (hGraph, nodes, numNodes)) \
	CALL(10000, cuGraphNodeGetType, , sim_cuGraphNodeGetType, WORK, \
		(CUgraphNode hNode, CUgraphNodeType *type), (hNode, type)) \
	CALL(12030, cuGraphNodeGetDependencies, _v2, sim_cuGraphNodeGetDependencies, WORK, \
		(CUgraphNode hNode, CUgraphNode *dependencies, CUgraphEdgeData *edgeData, size_t *numDependencies), \
		(hNode, dependencies, edgeData, numDependencies)) \
	CALL(11030, cuUserObjectCreate, , sim_cuUserObjectCreate, WORK, \
		(CUuserObject *object_out, void *ptr, CUhostFn destroy, unsigned int initialRefcount, \
		 unsigned int flags), \
		(object_out, ptr, destroy, initialRefcount, flags)) \
	CALL(11030, cuUserObjectRetain, , sim_cuUserObjectRetain, WORK, \
		(CUuserObject object, unsigned int count), (object, count)) \
	CALL(11030, cuUserObjectRelease, , sim_cuUserObjectRelease, WORK, \
		(CUuserObject object, unsigned int count), (object, count)) \
	CALL(11030, cuGraphRetainUserObject, , sim_cuGraphRetainUserObject, WORK, \
		(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags), \
		(graph, object, count, flags)) \
	CALL(11030, cuGraphReleaseUserObject, , sim_cuGraphReleaseUserObject, WORK, \
		(CUgraph graph, CUuserObject object, unsigned int count), (graph, object, count))
/* clang-format on */

#define CALL_DECLARE(since, name, suffix, implementation, kind, parameters, arguments)                                 \
	CUresult implementation parameters;
CALLS(CALL_DECLARE, CALL_DECLARE, CALL_DECLARE)
#undef CALL_DECLARE

struct call {
	const char *name, *symbol;
	int since;
	enum call_kind kind;
};

extern const struct call calls[];
extern const size_t calls_count;

#endif
