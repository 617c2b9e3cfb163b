/* SPDX-License-Identifier: MIT */
/* Entry points of earlier CUDA versions under the names that programs built with those versions look up. */
#ifndef SIM_CUDA_VERSIONS_H
#define SIM_CUDA_VERSIONS_H

#include <cuda.h>

#undef cuDeviceGetUuid
#undef cuDevicePrimaryCtxRelease
#undef cuEventElapsedTime
#undef cuStreamGetCaptureInfo
#undef cuStreamWriteValue32
#undef cuStreamWaitValue32
#undef cuStreamWriteValue64
#undef cuStreamWaitValue64
#undef cuStreamBatchMemOp
#undef cuGetProcAddress

#pragma GCC visibility push(default)
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);
CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end);
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id);
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
				   const CUgraphNode **dependencies, size_t *count);
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags);
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags);
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags);
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags);
CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *params, unsigned int flags);
CUresult cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags);
#pragma GCC visibility pop

#endif
