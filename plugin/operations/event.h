/* SPDX-License-Identifier: MIT */
/*
 * What all events have in common: is their communicator recorded, and is this one of those whose cost is measured?
 * Private to plugin/operations/; inlined, because it is on the path of every collective a dozen times.
 */
#ifndef PLUGIN_OPERATIONS_EVENT_H
#define PLUGIN_OPERATIONS_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "plugin/cost/cost.h"
#include "plugin/operations/thread.h"
#include "plugin/recording/recording.h"

/*
 * One event begins; what: the recorder's own struct of it. Never inlined: the check of the context, which comes before,
 * needs no registers to be saved.
 */
typedef void *event_start_function(struct recording *recording, struct communicator *communicator, const void *parent,
				   const void *what);
/* One event ends; number: of its handle. */
typedef void event_end_function(struct recording *recording, uint64_t number);
#define EVENT static __attribute__((noinline))

void *event_start_measured(event_start_function *start, struct recording *recording, struct communicator *communicator,
			   const void *parent, const void *what);
void event_end_measured(event_end_function *end, struct recording *recording, uint64_t number);

static inline __attribute__((always_inline)) void *event_start(event_start_function *start, const void *context,
							       const void *parent, const void *what)
{
	struct recording *recording = recording_get();
	struct communicator *communicator = recording ? recording_find(recording, context) : NULL;

	if (!communicator)
		return NULL;
	if (cost_is_due(&this_thread.calls, &recording->cost_sample))
		return event_start_measured(start, recording, communicator, parent, what);
	return start(recording, communicator, parent, what);
}

static inline __attribute__((always_inline)) void event_end(event_end_function *end, struct recording *recording,
							    uint64_t number)
{
	if (cost_is_due(&this_thread.calls, &recording->cost_sample))
		event_end_measured(end, recording, number);
	else
		end(recording, number);
}

#endif
