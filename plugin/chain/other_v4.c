/* SPDX-License-Identifier: MIT */
#include "plugin/chain/other_v4.h"

#include <string.h>

#include "plugin/nccl/profiler_v5.h"

enum { UNION_AT = offsetof(struct profiler_v4_event, coll) };
static_assert(offsetof(struct profiler_v5_event, coll) == UNION_AT, "one place in both");

/* Proxy, network and kernel events, and what both have of a collective, are laid out alike from the union on. */
void *other_v4_start(const struct profiler_v4 *table, void *context, const struct other_event *event)
{
	const struct profiler_v5_event *from = event->descriptor;
	struct profiler_v4_event to = { .type = (uint8_t)event->type, .parent = event->parent, .rank = from->rank };
	void *handle = NULL;

	memcpy((char *)&to + UNION_AT, (const char *)from + UNION_AT, sizeof(to) - UNION_AT);
	table->start_event(context, &handle, &to);
	return handle;
}
