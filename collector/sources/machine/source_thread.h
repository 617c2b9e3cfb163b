/* SPDX-License-Identifier: MIT */
/* The thread of a source whose reading may block. */
#ifndef COLLECTOR_SOURCES_MACHINE_SOURCE_THREAD_H
#define COLLECTOR_SOURCES_MACHINE_SOURCE_THREAD_H

#include <pthread.h>

/* Starts work(argument) with all signals blocked: they are for the thread that runs the loop. name: below 16 bytes, as
 * top and debuggers show it. 0 or -errno; the thread is the caller's to join or detach. */
int source_thread_start(pthread_t *thread, const char *name, void *(*work)(void *), void *argument);

#endif
