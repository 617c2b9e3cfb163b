/* SPDX-License-Identifier: MIT */
#include "drill/delay.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "identity/identity.h"

enum { SYSTEM_ERROR = 2 /* ncclSystemError */ };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct drill_plan plan;
static bool on; /* in this process */
static uint64_t begin_ns, end_ns;
static _Atomic uint64_t next_ns;
static atomic_uint delays;
static atomic_flag over = ATOMIC_FLAG_INIT;
static int log_fd = -1;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static const char *from_environment(void *argument, const char *name)
{
	(void)argument;
	return getenv(name);
}

static void note(const char *event)
{
	dprintf(log_fd, "{\"event\":\"%s\",\"unix_ms\":%" PRIu64 ",\"delays\":%u}\n", event,
		now_ns(CLOCK_REALTIME) / 1000000, atomic_load(&delays));
}

/* A rank that is started again after a failure is not delayed a second time: the file is there by then. */
static void begin(void)
{
	struct identity identity;

	if (!drill_plan_read(&plan, getenv(DRILL_VARIABLE)))
		return;
	identity_read(&identity, from_environment, NULL, 0, NULL, 0);
	if (identity.world_rank != plan.rank)
		return;
	log_fd = open(plan.log, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (log_fd < 0)
		return;
	begin_ns = now_ns(CLOCK_MONOTONIC) + plan.after_ns;
	end_ns = begin_ns + plan.for_ns;
	atomic_store(&next_ns, begin_ns);
	note("ready");
	on = true;
}

static void sleep_once(uint64_t at_ns)
{
	uint64_t due_ns = atomic_load(&next_ns);
	const struct timespec time = { (time_t)(plan.delay_ns / 1000000000), (long)(plan.delay_ns % 1000000000) };

	if (at_ns < due_ns || !atomic_compare_exchange_strong(&next_ns, &due_ns, at_ns + plan.every_ns))
		return;
	if (atomic_fetch_add(&delays, 1) == 0)
		note("begun");
	nanosleep(&time, NULL);
}

static void delay(void)
{
	pthread_once(&once, begin);
	if (!on)
		return;
	uint64_t at_ns = now_ns(CLOCK_MONOTONIC);

	if (at_ns < end_ns)
		sleep_once(at_ns);
	else if (!atomic_flag_test_and_set(&over))
		note("over");
}

/* Whoever stands behind us in the loader's order: the interposer, or NCCL itself; under PyTorch NCCL is in no global
 * scope. */
static void *find(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);
	void *nccl = found ? NULL : dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);

	return nccl ? dlsym(nccl, name) : found;
}

#define EXPORT __attribute__((visibility("default")))

/* One of NCCL's functions: its types are pointers, sizes and enums, which are ints. */
#define DELAYED(NAME, PARAMETERS, ARGUMENTS)                                                                           \
	EXPORT int NAME PARAMETERS;                                                                                    \
	int NAME PARAMETERS                                                                                            \
	{                                                                                                              \
		static _Atomic(void *) known;                                                                          \
		void *found = atomic_load(&known);                                                                     \
		if (!found)                                                                                            \
			atomic_store(&known, found = find(#NAME));                                                     \
		delay();                                                                                               \
		return found ? ((int(*) PARAMETERS)found)ARGUMENTS : SYSTEM_ERROR;                                     \
	}

DELAYED(ncclAllReduce,
	(const void *send, void *receive, size_t count, int type, int operator_, void *comm, void *stream),
	(send, receive, count, type, operator_, comm, stream))
DELAYED(ncclAllGather, (const void *send, void *receive, size_t count, int type, void *comm, void *stream),
	(send, receive, count, type, comm, stream))
DELAYED(ncclReduceScatter,
	(const void *send, void *receive, size_t count, int type, int operator_, void *comm, void *stream),
	(send, receive, count, type, operator_, comm, stream))
DELAYED(ncclReduce,
	(const void *send, void *receive, size_t count, int type, int operator_, int root, void *comm, void *stream),
	(send, receive, count, type, operator_, root, comm, stream))
DELAYED(ncclBroadcast, (const void *send, void *receive, size_t count, int type, int root, void *comm, void *stream),
	(send, receive, count, type, root, comm, stream))
DELAYED(ncclSend, (const void *buffer, size_t count, int type, int peer, void *comm, void *stream),
	(buffer, count, type, peer, comm, stream))
DELAYED(ncclRecv, (void *buffer, size_t count, int type, int peer, void *comm, void *stream),
	(buffer, count, type, peer, comm, stream))
