/* SPDX-License-Identifier: MIT */
/* How contexts begin and end, and are emptied: each device's primary one, and those that the program makes. */
#include <stdatomic.h>
#include <stdlib.h>

#include "sim/cuda/devices/context.h"
#include "sim/cuda/devices/device.h"
#include "sim/cuda/devices/memory.h"
#include "sim/cuda/driver/calls.h"
#include "sim/cuda/streams/callback.h"
#include "sim/cuda/streams/host_wait.h"
#include "sim/cuda/streams/stream.h"

static pthread_mutex_t primaries_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primaries[DEVICES_MAX];
static unsigned int primary_flags[DEVICES_MAX];

static bool flags_are_right(unsigned int flags)
{
	unsigned int schedule = flags & CU_CTX_SCHED_MASK;

	return !(flags & ~(unsigned int)CU_CTX_FLAGS_MASK) && !(schedule & (schedule - 1));
}

static CUcontext context_new(CUdevice device, bool primary, unsigned int flags)
{
	CUcontext context = calloc(1, sizeof(*context));

	if (!context)
		return NULL;
	context->device = device;
	context->primary = primary;
	atomic_init(&context->flags, flags);
	pthread_mutex_init(&context->lock, NULL);
	context->queue_count = hardware_queue_count();
	for (unsigned int i = 0; i < context->queue_count; i++)
		hardware_queue_open(&context->queues[i]);
	context->legacy = stream_new(context, 0, 0);
	context->callbacks = callback_thread_new(device);
	if (!context->legacy || !context->callbacks) {
		free(context->legacy);
		free(context->callbacks);
		free(context);
		return NULL;
	}
	return context;
}

/* After a reset the next retain makes the context anew, under its handle. */
static void revive(CUcontext context)
{
	int destroyed = CUDA_ERROR_CONTEXT_IS_DESTROYED;

	atomic_compare_exchange_strong(&context->broken, &destroyed, CUDA_SUCCESS);
}

CUresult sim_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	CUresult result = device_check(device);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&primaries_lock);
	if (!primaries[device])
		primaries[device] = context_new(device, true, primary_flags[device]);
	*context = primaries[device];
	if (*context)
		revive(*context);
	if (*context && (*context)->retained++ == 0)
		atomic_fetch_add(&host_wait_contexts, 1);
	pthread_mutex_unlock(&primaries_lock);
	return *context ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The last release drains the context and leaves it: a later retain finds it again, with its memory. */
CUresult sim_cuDevicePrimaryCtxRelease(CUdevice device)
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
	if (!last)
		return result;
	streams_drain(last);
	atomic_fetch_sub(&host_wait_contexts, 1);
	return result;
}

/* Since CUDA 11 also while the context is active. */
CUresult sim_cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
	CUresult result = device_check(device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!flags_are_right(flags))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&primaries_lock);
	primary_flags[device] = flags;
	if (primaries[device])
		atomic_store(&primaries[device]->flags, flags);
	pthread_mutex_unlock(&primaries_lock);
	return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
	CUresult result = device_check(device);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&primaries_lock);
	*flags = primary_flags[device];
	*active = primaries[device] && primaries[device]->retained;
	pthread_mutex_unlock(&primaries_lock);
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxCreate(CUcontext *context, CUctxCreateParams *params, unsigned int flags, CUdevice device)
{
	CUresult result = device_check(device);

	if (result != CUDA_SUCCESS)
		return result;
	if (params)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!flags_are_right(flags))
		return CUDA_ERROR_INVALID_VALUE;
	*context = context_new(device, false, flags);
	if (!*context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_fetch_add(&host_wait_contexts, 1);
	return sim_cuCtxPushCurrent(*context);
}

/* Everything in it is gone: streams, modules, memory that it has allocated, registrations. */
static void clear(CUcontext context)
{
	streams_drain(context);
	while (context->streams)
		stream_close(context->streams);
	memory_forget(context);
	atomic_fetch_add(&context->resets, 1);
	atomic_store(&context->broken, CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

/* The context keeps its handle and stays current where it was; whoever retains it anew finds it empty. */
CUresult sim_cuDevicePrimaryCtxReset(CUdevice device)
{
	CUresult result = device_check(device);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&primaries_lock);
	if (primaries[device])
		clear(primaries[device]);
	pthread_mutex_unlock(&primaries_lock);
	return CUDA_SUCCESS;
}

/* Its streams' threads end; the struct stays, because streams and events may still name it. */
CUresult sim_cuCtxDestroy(CUcontext context)
{
	CUcontext current;

	if (!context || context->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	clear(context);
	stream_close(context->legacy);
	context->legacy = NULL;
	callback_thread_free(context->callbacks);
	context->callbacks = NULL;
	atomic_fetch_sub(&host_wait_contexts, 1);
	if (context_current(&current) == CUDA_SUCCESS && current == context)
		sim_cuCtxPopCurrent(NULL);
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxSynchronize(void)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result == CUDA_SUCCESS)
		streams_drain(context);
	return result;
}
