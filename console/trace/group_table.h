/* SPDX-License-Identifier: MIT */
/* Which world ranks a communicator has, as far as all boxes of a run together report. One thread. */
#ifndef CONSOLE_TRACE_GROUP_TABLE_H
#define CONSOLE_TRACE_GROUP_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "blackbox/reader.h"
#include "console/replay/replay.h"

struct group_member {
	uint64_t communicator;
	int32_t rank, world_rank; /* rank: in the communicator */
};

/* Zeroed = empty. */
struct group_table {
	struct group_member *members;
	size_t count, room;
};

/* Adds the communicators of one box; world_rank -1 is no member that anybody could name. 0 or -ENOMEM. */
int group_table_add(struct group_table *table, const struct rw_communicator *communicators, uint32_t count,
		    int32_t world_rank);
/* Adds those of all boxes of a run and orders them. 0 or -ENOMEM. */
int group_table_gather(struct group_table *table, const struct replay *replay);
/* After the last and before the first find. */
void group_table_order(struct group_table *table);
/* World ranks of a communicator, by rank in it: a list for the caller to free when all `size` of them were seen, each
 * once; else NULL. */
int32_t *group_table_find(const struct group_table *table, uint64_t communicator, int32_t size);
/* What people call it: NCCL's name, escaped; without one its ranks where they are known, else its number. ranks: of
 * group_table_find(), which are sorted here, or NULL. Malloc'ed; NULL on lack of memory. */
char *group_name(const struct rw_communicator *communicator, int32_t *ranks);
void group_table_free(struct group_table *table);

#endif
