/* SPDX-License-Identifier: MIT */
/* A group of NCCL's API on its thread, and the chain of the operations that were called in it. On the path of a
 * collective. */
#ifndef PLUGIN_OPERATIONS_GROUP_H
#define PLUGIN_OPERATIONS_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/recording/recording.h"

struct operation_group {
	uint64_t newest; /* ticket of its last operation, 0 = none yet */
	uint32_t number; /* 0 = no group */
	bool several;    /* it has more than one operation */
	bool captured;   /* it has a captured call, and then no other: NCCL takes no mixture */
};

/* Ticket of the operation of the group before this one; 0: it is the first. */
static inline uint64_t group_before(const struct recording *recording, const struct operation_group *group,
				    uint64_t ticket)
{
	return group->several ? recording->previous[(ticket - 1) & recording->box.ring_mask] : 0;
}

/* Most groups have one operation: for these nothing is written that shares a cache line with another thread's. */
static inline void group_join(struct recording *recording, struct operation_group *group, uint64_t ticket)
{
	uint64_t mask = recording->box.ring_mask;

	if (group->newest) {
		if (!group->several)
			recording->previous[(group->newest - 1) & mask] = 0;
		recording->previous[(ticket - 1) & mask] = group->newest;
		group->several = true;
	}
	group->newest = ticket;
}

#endif
