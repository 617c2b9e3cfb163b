/* SPDX-License-Identifier: MIT */
/* Versions 1 to 3. */
#include "recording_plugin.h"

#include <stdio.h>

#include "sim/nccl/profiler/adapter.h"

#if RECORDING_ABI == 1
#define EVENT       event_v1
#define NAME_FORMAT "%d"
#define NAME(name)  (name)
#define TRAFFIC(e)  ((e)->coll.traffic)
#define OP(e)       ((int)(e)->coll.op)
#elif RECORDING_ABI == 2
#define EVENT       event_v2
#define NAME_FORMAT "%s"
#define NAME(name)  recording_text_of(name)
#define TRAFFIC(e)  ((e)->coll.traffic)
#define OP(e)       0
#else
#define EVENT       event_v3
#define NAME_FORMAT "%s"
#define NAME(name)  recording_text_of(name)
#define TRAFFIC(e)  ((size_t)0)
#define OP(e)       0
#endif
#define DETAILS(...) snprintf(out->details, sizeof(out->details), __VA_ARGS__)

void recording_decode(const void *given, struct recorded_event *out)
{
	const struct EVENT *event = given;

	out->type = event->type;
	out->parent = event->parent;
	if (event->type == EVENT_COLL)
		DETAILS(" " NAME_FORMAT " #%d %zu " NAME_FORMAT " " NAME_FORMAT " " NAME_FORMAT
			" comm %s %d traffic %zu op %d",
			NAME(event->coll.function), (int)event->coll.sequence, event->coll.count,
			NAME(event->coll.type), NAME(event->coll.algorithm), NAME(event->coll.protocol),
			recording_text_of(event->coll.comm_name), event->coll.comm_hash != 0, TRAFFIC(event),
			OP(event));
	if (event->type == EVENT_P2P)
		DETAILS(" " NAME_FORMAT " %zu " NAME_FORMAT " peer %d comm %s %d", NAME(event->p2p.function),
			event->p2p.count, NAME(event->p2p.type), event->p2p.peer,
			recording_text_of(event->p2p.comm_name), event->p2p.comm_hash != 0);
}
