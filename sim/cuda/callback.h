/* SPDX-License-Identifier: MIT */
/*
 * The driver's callback thread, one per context: it runs host functions one after the other, while their streams wait.
 * CUDA calls in a host function are refused.
 */
#ifndef SIM_CUDA_CALLBACK_H
#define SIM_CUDA_CALLBACK_H

#include <stdbool.h>

#include <cuda.h>

struct callback_thread;

/* NULL: out of memory. The thread starts with its first host function. */
struct callback_thread *callback_thread_new(void);
/* Ends the thread; nothing may be running on it. */
void callback_thread_free(struct callback_thread *thread);
/* Runs the function there and returns when it has returned. */
void callback_run(struct callback_thread *thread, CUhostFn function, void *argument);
/* Runs the function on the calling thread under the same rule. */
void callback_run_here(CUhostFn function, void *argument);
/* Whether the calling thread is inside a host function. */
bool callback_running(void);

#endif
