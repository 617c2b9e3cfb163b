/* SPDX-License-Identifier: MIT */
#include "played_threads.h"

#include <stddef.h>

__attribute__((visibility("default"))) void *played_async_main(void *argument)
{
	struct played_thread *thread = argument;

	thread->run(thread);
	return NULL;
}

__attribute__((visibility("default"))) void *played_service_main(void *argument)
{
	struct played_thread *thread = argument;

	thread->run(thread);
	thread->run = NULL; /* two functions that were alike could be made one */
	return NULL;
}

__attribute__((visibility("default"))) void played_work(struct played_thread *thread)
{
	thread->then(thread);
	thread->then = NULL; /* no tail call: this function is on the stack meanwhile */
}
