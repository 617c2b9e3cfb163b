/* SPDX-License-Identifier: MIT */
#include "plugin/operations/signals.h"

#include <pthread.h>
#include <stddef.h>

#include "plugin/guest/clock.h"
#include "plugin/recording/recording.h"

enum { QUEUED = 16 /* threads that have a wait in an open group; of more none is followed */ };

struct queued {
	struct communicator *communicator; /* NULL: none */
	uint64_t stream;
	pthread_t thread;
};

/* Of all threads, as static TLS is scarce. The lock is taken only where some thread has a wait in an open group. */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
static struct queued queued[QUEUED]; /* under `changing` */
static _Atomic uint32_t queued_count;

void signals_count(struct communicator *communicator)
{
	struct recording *recording = recording_get();

	if (communicator)
		atomic_fetch_add_explicit(&communicator->entry->one_sided, 1, memory_order_relaxed);
	if (recording)
		atomic_fetch_add_explicit(&recording->box.header->untracked[RW_UNTRACKED_ONE_SIDED], 1,
					  memory_order_relaxed);
}

/* While an earlier wait is not over, that one counts. */
static void show(struct rw_gpu_progress *page)
{
	uint64_t waits = atomic_load_explicit(&page->signal_waits, memory_order_relaxed);
	bool idle = atomic_load_explicit(&page->signalled, memory_order_relaxed) >= waits;

	if (idle)
		atomic_store_explicit(&page->signal_since_ns, clock_ns(), memory_order_relaxed);
}

static void write_behind(struct recording *recording, const struct communicator *communicator, uint64_t stream,
			 uint64_t number)
{
	const struct driver *driver = &recording->progress.driver;
	uint64_t address = communicator->counters.started + offsetof(struct rw_gpu_progress, signalled);
	driver_context current;
	bool foreign = driver->context_current(&current) == 0 && current != communicator->counters.context;
	bool pushed = foreign && driver->context_push(communicator->counters.context) == 0;

	/* Where it fails nothing is known of any wait any more. */
	if (!progress_write(&recording->progress, &communicator->counters, stream, address, number))
		atomic_store_explicit(&recording->box.gpu[communicator->index].signal_since_ns, 0,
				      memory_order_relaxed);
	if (pushed)
		driver->context_pop(&current);
}

static void follow(const struct queued *wait)
{
	struct recording *recording = recording_get();
	struct communicator *communicator = wait->communicator;

	if (!recording || !communicator->counters.write ||
	    !atomic_load_explicit(&recording->progress.on, memory_order_relaxed) ||
	    progress_is_capturing(&recording->progress, wait->stream))
		return;
	struct rw_gpu_progress *page = &recording->box.gpu[communicator->index];
	show(page);
	uint64_t number = atomic_fetch_add_explicit(&page->signal_waits, 1, memory_order_release) + 1;
	write_behind(recording, communicator, wait->stream, number);
}

/* The place of the calling thread; NULL: it has none. Under `changing`. */
static struct queued *own_place(void)
{
	for (int i = 0; i < QUEUED; i++)
		if (queued[i].communicator && pthread_equal(queued[i].thread, pthread_self()))
			return &queued[i];
	return NULL;
}

/* Under `changing`. */
static struct queued *free_place(void)
{
	for (int i = 0; i < QUEUED; i++)
		if (!queued[i].communicator)
			return &queued[i];
	return NULL;
}

static void queue(const struct queued *wait)
{
	pthread_mutex_lock(&changing);
	struct queued *own = own_place(), *place = own ? own : free_place();
	if (place)
		*place = *wait;
	if (place && !own)
		atomic_fetch_add_explicit(&queued_count, 1, memory_order_relaxed);
	pthread_mutex_unlock(&changing);
}

void signals_wait(struct communicator *communicator, uint64_t stream, bool in_group)
{
	const struct queued wait = { communicator, stream, pthread_self() };

	if (!communicator)
		return;
	if (in_group)
		queue(&wait);
	else
		follow(&wait);
}

void signals_group_end(bool success)
{
	struct queued wait = { 0 };

	if (!atomic_load_explicit(&queued_count, memory_order_relaxed))
		return;
	pthread_mutex_lock(&changing);
	struct queued *own = own_place();
	if (own) {
		wait = *own;
		own->communicator = NULL;
		atomic_fetch_sub_explicit(&queued_count, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&changing);
	if (wait.communicator && success)
		follow(&wait);
}
