/* SPDX-License-Identifier: MIT */
/* Of each flow its first and its last slice so far, for a format that has to say which these are. One thread. */
#ifndef CONSOLE_TRACE_FLOW_TABLE_H
#define CONSOLE_TRACE_FLOW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No more flows than these, 200 MB of them: what comes beyond is left out. */
#define FLOW_TABLE_MOST (UINT32_C(1) << 22)

struct flow_point {
	uint64_t at_ns;
	uint32_t process, track;
};

struct flow {
	uint64_t id; /* 0: not used */
	struct flow_point first, last;
	bool single; /* first is all there is */
};

/* Zeroed = empty. */
struct flow_table {
	struct flow *flows;
	size_t count, room; /* room: a power of two */
};

/* Adds a point. 1: *between is now neither the first nor the last of its flow; 0: no point is that; -ENOSPC: no room
 * for another flow; -ENOMEM. */
int flow_table_add(struct flow_table *table, uint64_t id, const struct flow_point *point, struct flow_point *between);
void flow_table_free(struct flow_table *table);

#endif
