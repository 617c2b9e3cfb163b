/* SPDX-License-Identifier: MIT */
#include "sim/nccl/launch/async.h"

static void *async_main(void *argument)
{
	struct async *async = argument;

	async->run(async);
	return argument;
}

bool async_start(struct async *async)
{
	return pthread_create(&async->thread, NULL, async_main, async) == 0;
}
