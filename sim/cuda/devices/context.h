/* SPDX-License-Identifier: MIT */
/* Contexts: which device and which streams belong together, and which context a thread works in. */
#ifndef SIM_CUDA_DEVICES_CONTEXT_H
#define SIM_CUDA_DEVICES_CONTEXT_H

#include <pthread.h>
#include <stdbool.h>

#include <cuda.h>

#include "sim/cuda/streams/hardware_queue.h"

#define CONTEXT_PRIORITY_LEAST    0
#define CONTEXT_PRIORITY_GREATEST (-5)

struct callback_thread;

struct CUctx_st {
	CUdevice device;
	bool primary;
	_Atomic unsigned int flags; /* CU_CTX_… */
	unsigned int retained; /* primary only; under the table's lock */
	pthread_mutex_t lock;  /* guards streams */
	CUstream streams;      /* every stream but the legacy one */
	CUstream legacy;       /* the default stream, handle 0 */
	_Atomic unsigned int closing; /* streams that were destroyed before all of their tasks had run */
	struct hardware_queue queues[HARDWARE_QUEUES_MAX];
	unsigned int queue_count;
	_Atomic unsigned int streams_made; /* they get the queues by turns */
	struct callback_thread *callbacks;
	_Atomic unsigned int resets; /* modules of before are gone */
	_Atomic int broken; /* CUresult that every later call returns; 0: none */
};

/* The calling thread's context, or CUDA_ERROR_INVALID_CONTEXT / CUDA_ERROR_NOT_INITIALIZED. */
CUresult context_current(CUcontext *context);
/* What broke the calling thread's context, or CUDA_SUCCESS. */
CUresult context_broken(void);
/* A call is about to return this: some errors break the calling thread's context for good. */
void context_note(CUresult result);

#endif
