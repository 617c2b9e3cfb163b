/* SPDX-License-Identifier: MIT */
/* Nodes of one graph, each once: what the next node of a stream depends on. */
#ifndef SIM_CUDA_GRAPHS_NODE_SET_H
#define SIM_CUDA_GRAPHS_NODE_SET_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>

struct node_set {
	CUgraphNode *nodes;
	size_t count;
};

/* False: out of memory, and nothing has changed. */
bool node_set_add(struct node_set *set, CUgraphNode node);
bool node_set_add_all(struct node_set *set, const struct node_set *more);
void node_set_clear(struct node_set *set);

#endif
