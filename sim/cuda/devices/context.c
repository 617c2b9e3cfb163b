/* SPDX-License-Identifier: MIT */
#include "sim/cuda/devices/context.h"

#include <stdatomic.h>

#include "sim/cuda/devices/device.h"
#include "sim/cuda/driver/calls.h"

#define STACK_DEPTH 32

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
