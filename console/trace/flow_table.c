/* SPDX-License-Identifier: MIT */
#include "console/trace/flow_table.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_ROOM = 1024 };

/* The place of this flow, or the free one where it belongs. Ids are hashes already. */
static struct flow *find(const struct flow_table *table, uint64_t id)
{
	size_t at = id & (table->room - 1);

	while (table->flows[at].id && table->flows[at].id != id)
		at = (at + 1) & (table->room - 1);
	return &table->flows[at];
}

/* At most three quarters are used, so that there is always a free place to end a search. */
static int make_room(struct flow_table *table)
{
	struct flow_table larger = { .count = table->count, .room = table->room ? 2 * table->room : FIRST_ROOM };

	if (table->count < table->room / 4 * 3)
		return 0;
	larger.flows = calloc(larger.room, sizeof(*larger.flows));
	if (!larger.flows)
		return -ENOMEM;
	for (size_t i = 0; i < table->room; i++)
		if (table->flows[i].id)
			*find(&larger, table->flows[i].id) = table->flows[i];
	free(table->flows);
	*table = larger;
	return 0;
}

static int begin(struct flow_table *table, struct flow *flow, uint64_t id, const struct flow_point *point)
{
	if (table->count >= FLOW_TABLE_MOST)
		return -ENOSPC;
	table->count++;
	*flow = (struct flow){ .id = id, .first = *point, .single = true };
	return 0;
}

int flow_table_add(struct flow_table *table, uint64_t id, const struct flow_point *point, struct flow_point *between)
{
	int err = make_room(table);

	if (err)
		return err;
	struct flow *flow = find(table, id);

	if (!flow->id)
		return begin(table, flow, id, point);
	bool is_first = point->at_ns < flow->first.at_ns;

	if (flow->single) {
		flow->single = false;
		flow->last = is_first ? flow->first : *point;
		flow->first = is_first ? *point : flow->first;
		return 0;
	}
	*between = *point;
	if (is_first) {
		*between = flow->first;
		flow->first = *point;
	} else if (point->at_ns >= flow->last.at_ns) {
		*between = flow->last;
		flow->last = *point;
	}
	return 1;
}

void flow_table_free(struct flow_table *table)
{
	free(table->flows);
	*table = (struct flow_table){ 0 };
}
