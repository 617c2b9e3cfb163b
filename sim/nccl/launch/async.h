/* SPDX-License-Identifier: MIT */
/* A piece of work on a thread of its own. All such threads begin in one function, as NCCL's do in
 * ncclAsyncJobMain(). */
#ifndef SIM_NCCL_LAUNCH_ASYNC_H
#define SIM_NCCL_LAUNCH_ASYNC_H

#include <pthread.h>
#include <stdbool.h>

struct async {
	void (*run)(struct async *async);
	pthread_t thread;
};

/* False: no thread could be made. Otherwise somebody joins `thread`, and *async lives until then. */
bool async_start(struct async *async);

#endif
