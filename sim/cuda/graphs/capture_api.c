/* SPDX-License-Identifier: MIT */
#include "sim/cuda/devices/context.h"
#include "sim/cuda/driver/calls.h"
#include "sim/cuda/graphs/capture.h"
#include "sim/cuda/streams/stream.h"

CUresult sim_cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode)
{
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if ((unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream == stream->context->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return capture_begin(stream, mode);
}

CUresult sim_cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	return graph ? capture_end(stream, graph) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
				    const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *count)
{
	struct capture_view view;
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (!status || (edges && !dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	result = capture_look(stream, &view);
	*status = view.status;
	if (result != CUDA_SUCCESS || view.status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return result;
	if (id)
		*id = view.id;
	if (graph)
		*graph = view.graph;
	if (dependencies)
		*dependencies = view.after.nodes;
	if (edges)
		*edges = NULL; /* edges without data have none to show */
	if (count)
		*count = view.after.count;
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	return sim_cuStreamGetCaptureInfo(stream, status, NULL, NULL, NULL, NULL, NULL);
}

CUresult sim_cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode *nodes, const CUgraphEdgeData *edges,
					       size_t count, unsigned int flags)
{
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if ((count && !nodes) || flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		return CUDA_ERROR_INVALID_VALUE;
	if (edges)
		return CUDA_ERROR_NOT_SUPPORTED;
	return capture_update(stream, &(struct node_set){ nodes, count }, flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}

CUresult sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	if (!mode || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = capture_exchange_mode(*mode);
	return CUDA_SUCCESS;
}
