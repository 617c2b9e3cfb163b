/* SPDX-License-Identifier: MIT */
/* Contexts: which device and which streams belong together, and which context a thread works in. */
#ifndef SIM_CUDA_CONTEXT_H
#define SIM_CUDA_CONTEXT_H

#include <pthread.h>
#include <stdbool.h>

#include <cuda.h>

struct CUctx_st {
	CUdevice device;
	bool primary;
	unsigned int retained; /* primary only; under the table's lock */
	pthread_mutex_t lock;  /* guards streams */
	CUstream streams;      /* every stream but the legacy one */
	CUstream legacy;       /* the default stream, handle 0 */
};

/* The calling thread's context, or CUDA_ERROR_INVALID_CONTEXT / CUDA_ERROR_NOT_INITIALIZED. */
CUresult context_current(CUcontext *context);
/* Waits until everything submitted to the context before the call is done. */
void context_drain(CUcontext context);
void context_forget_after_fork(void);

#endif
