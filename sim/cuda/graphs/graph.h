/* SPDX-License-Identifier: MIT */
/*
 * A graph is what capture recorded: nodes that hold a task's payload and know which nodes come before them. A node
 * comes after everything it depends on, so the order of the array is an order in which they can run. Nodes are shared
 * with the executable graphs made from it and never change.
 */
#ifndef SIM_CUDA_GRAPHS_GRAPH_H
#define SIM_CUDA_GRAPHS_GRAPH_H

#include <stdatomic.h>

#include "sim/cuda/graphs/node_set.h"
#include "sim/cuda/graphs/user_object.h"
#include "sim/cuda/streams/stream_point.h"

struct CUgraphNode_st {
	atomic_uint references; /* the graph and its executable graphs */
	const struct task_kind *kind;
	size_t number;      /* in its graph */
	CUgraphNode *after; /* what it depends on, of the same graph */
	size_t after_count;
	_Alignas(16) unsigned char payload[STREAM_PAYLOAD_BYTES];
};

struct CUgraph_st {
	struct node_set nodes;
	struct user_references *objects;
};

void node_drop(CUgraphNode node);

/* NULL: out of memory. */
CUgraph graph_new(void);
/* Takes the payload over. NULL: out of memory, and the payload is still the caller's. */
CUgraphNode graph_add(CUgraph graph, const struct task_kind *kind, const void *payload, size_t size,
		      const struct node_set *after);
/* Whether each node of part is one of the ends or comes before one of them. */
bool graph_is_joined(CUgraph graph, const struct node_set *part, const struct node_set *ends);

#endif
