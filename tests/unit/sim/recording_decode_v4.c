/* SPDX-License-Identifier: MIT */
/* Versions 4 to 7. */
#include "recording_plugin.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/nccl/profiler/adapter.h"

#define DETAILS(...) snprintf(out->details, sizeof(out->details), __VA_ARGS__)

static pthread_t caller;
static uint64_t work_ns; /* the latest call, or the latest callback of a replay, by the GPU's clock */

static void note_work(bool call)
{
	struct timespec now;

	if (call)
		caller = pthread_self();
	else if (pthread_equal(caller, pthread_self()))
		return; /* its kernel may have begun already */
	clock_gettime(CLOCK_REALTIME, &now);
	work_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* RECORDING_AGES: for a test in which each kernel has ended before the next call or replay. */
static const char *age_of(uint64_t timer)
{
	return !timer ? "untimed" : getenv("RECORDING_AGES") && timer < work_ns ? "of before" : "timed";
}

static void decode_call(const struct event_v7 *event, struct recorded_event *out)
{
	switch (out->type) {
	case EVENT_GROUP_API:
		DETAILS(" depth %d", event->group_api.depth);
		break;
	case EVENT_COLL_API:
		note_work(true);
		DETAILS(" %s %zu %s root %d%s", event->coll_api.function, event->coll_api.count, event->coll_api.type,
			event->coll_api.root, event->coll_api.captured ? " captured" : "");
		break;
	case EVENT_P2P_API:
		DETAILS(" %s %zu %s%s", event->p2p_api.function, event->p2p_api.count, event->p2p_api.type,
			event->p2p_api.captured ? " captured" : "");
		break;
	}
}

static void decode_task(const struct event_v7 *event, struct recorded_event *out)
{
	switch (out->type) {
	case EVENT_COLL:
		note_work(false);
		DETAILS(" %s #%d %zu %s root %d rank %d%s", event->coll.function, (int)event->coll.sequence,
			event->coll.count, event->coll.type, event->coll.root, event->rank,
			RECORDING_ABI >= 7 && event->coll.symmetric ? " symmetric" : "");
		out->group = RECORDING_ABI >= 5 ? event->coll.group : NULL;
		break;
	case EVENT_P2P:
		DETAILS(" %s %zu %s peer %d rank %d%s", event->p2p.function, event->p2p.count, event->p2p.type,
			event->p2p.peer, event->rank, event->p2p.channels == ADAPTER_POISON ? " channels *" : "");
		out->group = RECORDING_ABI >= 5 ? event->p2p.group : NULL;
		break;
	}
}

static void decode_device(const struct event_v7 *event, struct recorded_event *out)
{
	switch (out->type) {
	case EVENT_KERNEL_CH:
		DETAILS(" channel %d %s", event->kernel_ch.channel, age_of(event->kernel_ch.timer));
		break;
	case EVENT_CE_COLL:
		DETAILS(" %s #%d %zu %s rank %d", event->ce_coll.function, (int)event->ce_coll.sequence,
			event->ce_coll.count, event->ce_coll.type, event->rank);
		break;
	case EVENT_CE_SYNC:
		DETAILS(" complete %d of %d", event->ce_sync.complete, event->ce_sync.nranks);
		break;
	case EVENT_CE_BATCH:
		DETAILS(" %d of %zu bytes", event->ce_batch.operations, event->ce_batch.bytes);
		break;
	case EVENT_KERNEL_PHASE:
		DETAILS(" channel %d %s", event->kernel_phase.channel, event->kernel_phase.name);
		break;
	}
}

/* In version 4 the type is one byte; what follows it is padding that nobody may read. */
static bool has_poisoned_type(const void *event)
{
	return RECORDING_ABI == 4 && ((const uint8_t *)event)[1] == ADAPTER_POISON;
}

void recording_decode(const void *given, struct recorded_event *out)
{
	const struct event_v7 *event = given;

	out->type = RECORDING_ABI == 4 ? (uint8_t)event->type : event->type;
	out->parent = event->parent;
	if (out->type == EVENT_GROUP && has_poisoned_type(given))
		DETAILS(" padding *");
	decode_call(event, out);
	decode_task(event, out);
	decode_device(event, out);
}
