/* SPDX-License-Identifier: MIT */
#include "plugin.h"

static const struct profiler_v4 *plugin;

static ncclResult_t init(void **context, uint64_t comm_id, int *mask, const char *comm_name, int nodes, int nranks,
			 int rank, profiler_log *log)
{
	return plugin->init(context, mask, comm_name, comm_id, nodes, nranks, rank, log);
}

/* Events that version 4 does not know are dropped, and *handle stays as it was, as in NCCL. */
static ncclResult_t start_event(void *context, void **handle, struct event_v5 *event)
{
	struct event_v4 old = { .type = (uint8_t)event->type, .parent = event->parent, .rank = event->rank };

	switch (event->type) {
	case EVENT_GROUP:
		break;
	case EVENT_COLL:
		old.parent = event->coll.group;
		old.coll = event->coll.v4;
		break;
	case EVENT_P2P:
		old.parent = event->p2p.group;
		old.p2p = event->p2p.v4;
		old.p2p.channels = 0; /* NCCL does not copy it */
		break;
	case EVENT_KERNEL_CH:
		old.kernel_ch = event->kernel_ch;
		break;
	default:
		return ncclSuccess;
	}
	return plugin->start_event(context, handle, &old);
}

static ncclResult_t stop_event(void *handle)
{
	return plugin->stop_event(handle);
}

static ncclResult_t record_state(void *handle, enum profiler_state state, union profiler_state_args *args)
{
	return plugin->record_state(handle, state, args);
}

static ncclResult_t finalize(void *context)
{
	return plugin->finalize(context);
}

const struct profiler_v5 *adapter_v4(const struct profiler_v4 *v4)
{
	static struct profiler_v5 table = { NULL, init, start_event, stop_event, record_state, finalize };

	plugin = v4;
	table.name = v4->name;
	return &table;
}
