/* SPDX-License-Identifier: MIT */
#include "sim/cuda/devices/context.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "sim/cuda/devices/device.h"
#include "sim/cuda/devices/memory.h"
#include "sim/cuda/driver/calls.h"
#include "sim/cuda/streams/callback.h"
#include "sim/cuda/streams/host_wait.h"
#include "sim/cuda/streams/stream.h"

#define STACK_DEPTH 32

static pthread_mutex_t primaries_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primaries[DEVICES_MAX];
static unsigned int primary_flags[DEVICES_MAX];
static _Thread_local CUcontext stack[STACK_DEPTH];
static _Thread_local int depth;

static void forget_after_fork(void)
{
	depth = 0;
}

static __attribute__((constructor)) void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forget_after_fork);
}

CUresult context_current(CUcontext *context)
{
	CUresult result = device_ready();

	if (result != CUDA_SUCCESS)
		return result;
	*context = depth ? stack[depth - 1] : NULL;
	return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* Errors after which a GPU's context is of no more use. */
static const CUresult breaking[] = {
	CUDA_ERROR_ECC_UNCORRECTABLE,    CUDA_ERROR_ILLEGAL_ADDRESS,
	CUDA_ERROR_LAUNCH_TIMEOUT,       CUDA_ERROR_ASSERT,
	CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ILLEGAL_INSTRUCTION,
	CUDA_ERROR_MISALIGNED_ADDRESS,   CUDA_ERROR_INVALID_ADDRESS_SPACE,
	CUDA_ERROR_INVALID_PC,           CUDA_ERROR_LAUNCH_FAILED,
};

CUresult context_broken(void)
{
	return depth ? (CUresult)atomic_load(&stack[depth - 1]->broken) : CUDA_SUCCESS;
}

void context_note(CUresult result)
{
	int whole = CUDA_SUCCESS;

	if (result == CUDA_SUCCESS || !depth)
		return;
	for (size_t i = 0; i < sizeof(breaking) / sizeof(breaking[0]); i++) {
		if (breaking[i] == result)
			atomic_compare_exchange_strong(&stack[depth - 1]->broken, &whole, (int)result);
	}
}

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
	context_drain(last);
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
	context_drain(context);
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
	if (!context || context->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	clear(context);
	stream_close(context->legacy);
	context->legacy = NULL;
	callback_thread_free(context->callbacks);
	context->callbacks = NULL;
	atomic_fetch_sub(&host_wait_contexts, 1);
	if (depth && stack[depth - 1] == context)
		depth--;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetCurrent(CUcontext context)
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

CUresult sim_cuCtxGetCurrent(CUcontext *context)
{
	CUresult result = context_current(context);

	return result == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : result;
}

CUresult sim_cuCtxGetDevice(CUdevice *device)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result == CUDA_SUCCESS)
		*device = context->device;
	return result;
}

CUresult sim_cuCtxPushCurrent(CUcontext context)
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

CUresult sim_cuCtxPopCurrent(CUcontext *context)
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

CUresult sim_cuCtxSynchronize(void)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result == CUDA_SUCCESS)
		context_drain(context);
	return result;
}

CUresult sim_cuCtxGetFlags(unsigned int *flags)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = atomic_load(&context->flags);
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (least)
		*least = CONTEXT_PRIORITY_LEAST;
	if (greatest)
		*greatest = CONTEXT_PRIORITY_GREATEST;
	return CUDA_SUCCESS;
}

void context_drain(CUcontext context)
{
	size_t count;
	struct stream_point *points = stream_points(context, STREAMS_ALL, &count);

	for (size_t i = 0; i < count; i++) {
		host_wait(&points[i]);
		stream_point_drop(&points[i]);
	}
	free(points);
	/* What a destroyed stream was given still runs, and uses memory that the caller is about to free. */
	while (atomic_load(&context->closing))
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}
