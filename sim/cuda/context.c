/* SPDX-License-Identifier: MIT */
#include "context.h"

#include <stdlib.h>

#include "device.h"
#include "stream.h"

#define STACK_DEPTH 32

static pthread_mutex_t primaries_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primaries[DEVICES_MAX];
static _Thread_local CUcontext stack[STACK_DEPTH];
static _Thread_local int depth;

void context_forget_after_fork(void)
{
	depth = 0;
}

CUresult context_current(CUcontext *context)
{
	CUresult result = device_ready();

	if (result != CUDA_SUCCESS)
		return result;
	*context = depth ? stack[depth - 1] : NULL;
	return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUcontext context_new(CUdevice device, bool primary)
{
	CUcontext context = calloc(1, sizeof(*context));

	if (!context)
		return NULL;
	context->device = device;
	context->primary = primary;
	pthread_mutex_init(&context->lock, NULL);
	context->legacy = stream_new(context, 0, 0);
	if (!context->legacy) {
		free(context);
		return NULL;
	}
	return context;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	CUresult result = device_check(device);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&primaries_lock);
	if (!primaries[device])
		primaries[device] = context_new(device, true);
	*context = primaries[device];
	if (*context)
		(*context)->retained++;
	pthread_mutex_unlock(&primaries_lock);
	return *context ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The last release drains the context and leaves it: a later retain finds it again, with its memory. */
CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
	CUresult result = device_check(device);
	CUcontext last = NULL;

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&primaries_lock);
	if (!primaries[device] || !primaries[device]->retained)
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (--primaries[device]->retained == 0)
		last = primaries[device];
	pthread_mutex_unlock(&primaries_lock);
	if (last)
		context_drain(last);
	return result;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
	CUresult result = device_check(device);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&primaries_lock);
	*flags = 0;
	*active = primaries[device] && primaries[device]->retained;
	pthread_mutex_unlock(&primaries_lock);
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext *context, CUctxCreateParams *params, unsigned int flags, CUdevice device)
{
	CUresult result = device_check(device);

	(void)flags;
	if (result != CUDA_SUCCESS)
		return result;
	if (params)
		return CUDA_ERROR_NOT_SUPPORTED;
	*context = context_new(device, false);
	if (!*context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return cuCtxPushCurrent(*context);
}

/* Its streams' threads end; the struct stays, because streams and events may still name it. */
CUresult cuCtxDestroy(CUcontext context)
{
	if (!context || context->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	context_drain(context);
	while (context->streams)
		stream_close(context->streams);
	stream_close(context->legacy);
	context->legacy = NULL;
	if (depth && stack[depth - 1] == context)
		depth--;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
	CUresult result = device_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (context && !context->legacy)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!depth && !context)
		return CUDA_SUCCESS;
	if (!depth)
		depth = 1;
	stack[depth - 1] = context;
	if (!context)
		depth--;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
	CUresult result = context_current(context);

	return result == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : result;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result == CUDA_SUCCESS)
		*device = context->device;
	return result;
}

CUresult cuCtxPushCurrent(CUcontext context)
{
	CUresult result = device_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!context || !context->legacy)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth == STACK_DEPTH)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = context;
	return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *context)
{
	CUcontext current;
	CUresult result = context_current(&current);

	if (result != CUDA_SUCCESS)
		return result;
	depth--;
	if (context)
		*context = current;
	return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result == CUDA_SUCCESS)
		context_drain(context);
	return result;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_SUCCESS;
}

void context_drain(CUcontext context)
{
	size_t count;
	struct stream_point *points = stream_points(context, STREAMS_ALL, &count);

	for (size_t i = 0; i < count; i++) {
		stream_point_wait(&points[i]);
		stream_point_drop(&points[i]);
	}
	free(points);
}
