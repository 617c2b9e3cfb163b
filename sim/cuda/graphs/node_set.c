/* SPDX-License-Identifier: MIT */
#include "sim/cuda/graphs/node_set.h"

#include <stdlib.h>

bool node_set_add(struct node_set *set, CUgraphNode node)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->nodes[i] == node)
			return true;
	}
	CUgraphNode *grown = realloc(set->nodes, (set->count + 1) * sizeof(CUgraphNode));
	if (!grown)
		return false;
	set->nodes = grown;
	set->nodes[set->count++] = node;
	return true;
}

bool node_set_add_all(struct node_set *set, const struct node_set *more)
{
	size_t before = set->count;

	for (size_t i = 0; i < more->count; i++) {
		if (!node_set_add(set, more->nodes[i])) {
			set->count = before;
			return false;
		}
	}
	return true;
}

void node_set_clear(struct node_set *set)
{
	free(set->nodes);
	*set = (struct node_set){ 0 };
}
