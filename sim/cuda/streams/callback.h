/* SPDX-License-Identifier: MIT */
/*
 * The driver's thread for events, one per context: it polls the device's file, and wakes the host threads that block
 * until the GPU has done something. It also runs host functions one after the other, while their streams wait; CUDA
 * calls in a host function are refused.
 */
#ifndef SIM_CUDA_STREAMS_CALLBACK_H
#define SIM_CUDA_STREAMS_CALLBACK_H

#include <stdbool.h>

#include <cuda.h>

struct callback_thread;
struct stream_point;

/* NULL: out of memory. The thread starts when somebody needs it. */
struct callback_thread *callback_thread_new(CUdevice device);
/* Ends the thread; nothing may be running on it. */
void callback_thread_free(struct callback_thread *thread);
/* Runs the function there and returns when it has returned. */
void callback_run(struct callback_thread *thread, CUhostFn function, void *argument);
/* Blocks on a futex until the thread has seen that the point is reached. False: there can be no such thread. */
bool callback_await(struct callback_thread *thread, const struct stream_point *point);
/* Something is reached that a host may block for; any thread. */
void callback_ring(struct callback_thread *thread);
/* Runs the function on the calling thread under the same rule. */
void callback_run_here(CUhostFn function, void *argument);
/* Whether the calling thread is inside a host function. */
bool callback_running(void);

#endif
