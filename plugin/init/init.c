/* SPDX-License-Identifier: MIT */
#include "plugin/init/init.h"

#include "plugin/guest/clock.h"
#include "plugin/guest/message.h"
#include "plugin/guest/try_lock.h"
#include "plugin/init/awaited.h"
#include "plugin/init/kernel_events.h"
#include "plugin/init/process.h"
#include "plugin/operations/call.h"
#include "plugin/operations/kernel.h"
#include "plugin/operations/recorder.h"
#include "plugin/recording/handle.h"
#include "plugin/recording/recording.h"
#include "plugin/scanning/scanning.h"

static const uint64_t poll_ns = 1000000;
/* Of one and the same query of another thread. The collector reports that call by then, too. */
static const uint64_t most_ns = 5000000000;

/* Inits query the driver one after the other. Where a query of another thread does not return, an init goes on without
 * its own: its communicator is recorded without a device, so without GPU progress and scans. No finalize takes this
 * lock, and so no abort does. */
static try_lock querying;
static _Atomic uint32_t queried; /* by how many inits */

/* False: another thread's query does not return. */
static bool begin_query(void)
{
	uint32_t before = atomic_load_explicit(&queried, memory_order_relaxed);

	for (uint64_t waited = 0; waited < most_ns;) {
		if (try_lock_take(&querying))
			return true;
		waited += clock_rest(poll_ns);
		uint32_t now = atomic_load_explicit(&queried, memory_order_relaxed);
		if (now != before)
			waited = 0;
		before = now;
	}
	return false;
}

static void query_driver(struct recording *recording, struct communicator_device *device)
{
	if (!begin_query()) {
		message(
		    "another thread's call of the driver does not return: a communicator is recorded without its GPU");
		return;
	}
	process_open_device(recording);
	progress_communicator(&recording->progress, &device->counters);
	device->scan = scanning_device();
	device->has_device = progress_device(&recording->progress, &device->device);
	atomic_fetch_add_explicit(&queried, 1, memory_order_relaxed);
	try_lock_leave(&querying);
}

/* Before v5 NCCL reports no call before its launch, so nobody asks for the thread that works on it. */
static struct thread_start start_of(const struct communicator_init *from)
{
	return from->abi >= 5 ? thread_start_own(from->caller) : (struct thread_start){ 0 };
}

struct communicator *init_communicator(const struct communicator_init *from)
{
	struct recording *recording = process_record(from);
	struct communicator_device device = { .has_device = false };

	if (!recording)
		return NULL;
	query_driver(recording, &device);
	struct communicator *communicator = communicator_add(recording, from, &device);
	if (communicator)
		recording->starts[communicator->index] = start_of(from);
	return communicator;
}

enum init_wish init_context(const struct communicator_init *from, void **context)
{
	*context = handle_context(HANDLE_BLIND, 0);
	awaited_met(from->abi >= 4 ? from->nranks : 0, from->rank);
	if (from->abi >= 4 && from->nranks < 2)
		return INIT_NOTHING;
	struct communicator *communicator = init_communicator(from);
	if (!communicator)
		return INIT_NOTHING;
	call_communicator_added(communicator);
	recorder_know_thread();
	*context = handle_context(communicator->index, communicator->generation);
	return kernels_are_recorded() && kernel_events_are_safe(recording_get(), from) ? INIT_OPERATIONS_AND_KERNELS
										       : INIT_OPERATIONS;
}

void init_finalize(void *context)
{
	struct recording *recording = recording_get();
	struct communicator *communicator = recording ? recording_find(recording, context) : NULL;

	if (communicator)
		communicator_end(recording, communicator);
}
