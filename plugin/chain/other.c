/* SPDX-License-Identifier: MIT */
#include "plugin/chain/other.h"

#include <dlfcn.h>
#include <stdio.h>

#include "plugin/chain/other_v4.h"
#include "plugin/nccl/profiler_v1.h"
#include "plugin/nccl/profiler_v4.h"
#include "plugin/nccl/profiler_v5.h"

enum { NEWEST = 7 };

static const void *table_of(void *library, uint32_t abi)
{
	char symbol[32];

	snprintf(symbol, sizeof(symbol), "ncclProfiler_v%u", abi);
	return dlsym(library, symbol);
}

/* Lowest version that can be served with events of this one. */
static uint32_t lowest_for(uint32_t nccl_abi)
{
	return nccl_abi >= 5 ? 4 : nccl_abi;
}

bool other_find(struct other *other, void *library, uint32_t nccl_abi)
{
	*other = (struct other){ .nccl_abi = nccl_abi };
	for (uint32_t abi = nccl_abi; abi >= lowest_for(nccl_abi) && !other->table; abi--) {
		other->table = table_of(library, abi);
		other->abi = abi;
	}
	return other->table;
}

uint32_t other_newest(void *library)
{
	uint32_t abi = NEWEST;

	while (abi && !table_of(library, abi))
		abi--;
	return abi;
}

/* The functions that take no descriptor are at the same place, and the same, in all versions. */
static const struct profiler_v1 *common(const struct other *other)
{
	return other->table;
}

const char *other_name(const struct other *other)
{
	return common(other)->name ? common(other)->name : "?";
}

int other_knows(const struct other *other)
{
	static const int known[NEWEST + 1] = { 0, 0x3f, 0x3f, 0xff, 0xff, 0xfff, 0x7fff, 0xffff };

	return known[other->abi];
}

bool other_hangs_from_group(const struct other *other, uint64_t type)
{
	return other->abi == 4 && other->nccl_abi > 4 && (type == PROFILER_COLL || type == PROFILER_P2P);
}

int other_init(const struct other *other, const struct communicator_init *communicator, profiler_log *log,
	       void **context, int *mask)
{
	const struct profiler_v4 *v4 = other->table;
	const struct profiler_v5 *v5 = other->table;

	if (other->abi < 4)
		return common(other)->init(context, mask);
	if (other->abi == 4)
		return v4->init(context, mask, communicator->name, communicator->id, communicator->nnodes,
				communicator->nranks, communicator->rank, log);
	return v5->init(context, communicator->id, mask, communicator->name, communicator->nnodes, communicator->nranks,
			communicator->rank, log);
}

/* The descriptor is on NCCL's stack, valid only for this call: what the other is to find there is put in, and restored
 * afterwards. */
static void *start_same_layout(const struct other *other, void *context, const struct other_event *event)
{
	struct profiler_v5_event *descriptor = event->descriptor;
	void **group = event->type == PROFILER_COLL  ? &descriptor->coll.group
		       : event->type == PROFILER_P2P ? &descriptor->p2p.group
						     : NULL;
	void *handle = NULL, *parent = descriptor->parent, *plan = NULL;

	if (other->abi < 5)
		group = NULL;
	descriptor->parent = event->parent;
	if (group) {
		plan = *group;
		*group = event->group;
	}
	common(other)->start_event(context, &handle, descriptor);
	descriptor->parent = parent;
	if (group)
		*group = plan;
	return handle;
}

void *other_start(const struct other *other, void *context, const struct other_event *event)
{
	if (other->abi == 4 && other->nccl_abi > 4)
		return other_v4_start(other->table, context, event);
	return start_same_layout(other, context, event);
}

void other_stop(const struct other *other, void *handle)
{
	common(other)->stop_event(handle);
}

void other_record_state(const struct other *other, void *handle, int state, void *arguments)
{
	common(other)->record_event_state(handle, state, arguments);
}

void other_finalize(const struct other *other, void *context)
{
	common(other)->finalize(context);
}
