/* SPDX-License-Identifier: MIT */
/*
 * Another profiler plugin, called as NCCL would call it. Its table is of NCCL's own version or of a lower one with the
 * same layout (7, 6, 5); version 4 below those is translated, as NCCL does. Not translated: versions 1 to 3 under a
 * NCCL that has a newer one.
 */
#ifndef PLUGIN_CHAIN_OTHER_H
#define PLUGIN_CHAIN_OTHER_H

#include <stdbool.h>

#include "plugin/nccl/profiler.h"
#include "plugin/recording/communicator_init.h"

struct other {
	const void *table; /* NULL = none */
	uint32_t abi;      /* its version */
	uint32_t nccl_abi; /* of the events that we pass on */
};

/* An event on its way, in the layout of other.nccl_abi. `parent` and `group` are what the other gave us for them. */
struct other_event {
	uint64_t type;
	void *descriptor; /* NCCL's; left as it was */
	void *parent;
	void *group;
};

/* The newest table of the library that NCCL's version can be served by; false: none. */
bool other_find(struct other *other, void *library, uint32_t nccl_abi);
/* Highest version that the library has; 0 none. */
uint32_t other_newest(void *library);
const char *other_name(const struct other *other);
/* Event types that its version knows, as bits. */
int other_knows(const struct other *other);
/* Does version 4 of NCCL hang this event from the plan (Group) instead of from the call? */
bool other_hangs_from_group(const struct other *other, uint64_t type);

int other_init(const struct other *other, const struct communicator_init *communicator, profiler_log *log,
	       void **context, int *mask);
void *other_start(const struct other *other, void *context, const struct other_event *event);
void other_stop(const struct other *other, void *handle);
void other_record_state(const struct other *other, void *handle, int state, void *arguments);
void other_finalize(const struct other *other, void *context);

#endif
