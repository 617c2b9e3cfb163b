/* SPDX-License-Identifier: MIT */
/* The thread that PyTorch enqueues backward passes from, while the main thread waits for it. */
#ifndef SIM_WORKLOAD_TRAINING_AUTOGRAD_H
#define SIM_WORKLOAD_TRAINING_AUTOGRAD_H

#include <cuda.h>

struct autograd;

/* Starts the thread "pt_autograd_0" in this context. 0 or -errno. */
int autograd_start(struct autograd **autograd, CUcontext context);
/* NULL is fine. */
void autograd_stop(struct autograd *autograd);
/* Runs the function there and waits until it has returned. */
void autograd_run(struct autograd *autograd, void (*function)(void *argument), void *argument);

#endif
