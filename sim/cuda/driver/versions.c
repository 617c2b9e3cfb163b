/* SPDX-License-Identifier: MIT */
/* Entry points of earlier CUDA versions whose parameters differ from today's. */
#include "sim/cuda/driver/calls.h"

CUresult sim_cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
	return sim_cuCtxCreate(context, NULL, flags, device);
}

CUresult sim_cuStreamGetCaptureInfo_v1(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	return sim_cuStreamGetCaptureInfo(stream, status, id, NULL, NULL, NULL, NULL);
}

CUresult sim_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
				       const CUgraphNode **dependencies, size_t *count)
{
	return sim_cuStreamGetCaptureInfo(stream, status, id, graph, dependencies, NULL, count);
}

CUresult sim_cuStreamBeginCapture_v1(CUstream stream)
{
	return sim_cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult sim_cuStreamUpdateCaptureDependencies_v1(CUstream stream, CUgraphNode *nodes, size_t count, unsigned int flags)
{
	return sim_cuStreamUpdateCaptureDependencies(stream, nodes, NULL, count, flags);
}

CUresult sim_cuGetProcAddress_v1(const char *symbol, void **function, int version, cuuint64_t flags)
{
	return sim_cuGetProcAddress(symbol, function, version, flags, NULL);
}
