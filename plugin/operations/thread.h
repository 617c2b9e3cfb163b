/* SPDX-License-Identifier: MIT */
/*
 * What a thread is in the middle of. Private to plugin/operations/. Initial-exec: no __tls_get_addr (a second library
 * to need), and no malloc at the first use in a thread, which would be an allocation on a collective's path. glibc
 * keeps about 1.6 KiB of static TLS for libraries that come by dlopen, shared by all of them: hence one cache line and
 * no more.
 */
#ifndef PLUGIN_OPERATIONS_THREAD_H
#define PLUGIN_OPERATIONS_THREAD_H

#include <assert.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/operations/group.h"
#include "plugin/operations/launch.h"

struct thread {
	struct operation_launch launch;
	struct operation_group group;
	uint32_t launched; /* communicator_mark() of the last launch on this thread, 0 = none */
	int32_t calls;     /* until the next callback whose cost is measured */
};
static_assert(sizeof(struct thread) <= 64, "static TLS is scarce");

extern __thread struct thread this_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Is a group of NCCL's open on this thread? Only profiler ABI v5 and later say so. */
static inline bool thread_in_group(void)
{
	return this_thread.group.number;
}

/* Its number; 0: in none. */
static inline uint32_t thread_group(void)
{
	return this_thread.group.number;
}

/* The kernel's number of the thread, asked for once per thread. */
static inline void thread_know(struct thread *thread)
{
	if (!thread->launch.tid)
		thread->launch.tid = (uint32_t)syscall(SYS_gettid);
}

#endif
