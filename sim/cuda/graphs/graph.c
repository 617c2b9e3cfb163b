/* SPDX-License-Identifier: MIT */
#include "sim/cuda/graphs/graph.h"

#include <stdlib.h>
#include <string.h>

#include "sim/cuda/driver/calls.h"

void node_drop(CUgraphNode node)
{
	if (atomic_fetch_sub(&node->references, 1) > 1)
		return;
	if (node->kind->drop)
		node->kind->drop(node->payload);
	free(node->after);
	free(node);
}

CUgraph graph_new(void)
{
	return calloc(1, sizeof(struct CUgraph_st));
}

/* Grows by doubling: a graph may have thousands of nodes, and none is there twice. */
static bool graph_append(CUgraph graph, CUgraphNode node)
{
	size_t count = graph->nodes.count;

	if (!(count & (count - 1))) {
		CUgraphNode *grown = realloc(graph->nodes.nodes, (count ? 2 * count : 1) * sizeof(CUgraphNode));
		if (!grown)
			return false;
		graph->nodes.nodes = grown;
	}
	graph->nodes.nodes[graph->nodes.count++] = node;
	return true;
}

CUgraphNode graph_add(CUgraph graph, const struct task_kind *kind, const void *payload, size_t size,
		      const struct node_set *after)
{
	CUgraphNode node = calloc(1, sizeof(*node));
	struct node_set set = { 0 };

	if (!node || !node_set_add_all(&set, after) || !graph_append(graph, node)) {
		node_set_clear(&set);
		free(node);
		return NULL;
	}
	atomic_init(&node->references, 1);
	node->kind = kind;
	node->number = graph->nodes.count - 1;
	node->after = set.nodes;
	node->after_count = set.count;
	memcpy(node->payload, payload, size);
	return node;
}

bool graph_is_joined(CUgraph graph, const struct node_set *part, const struct node_set *ends)
{
	bool *reached = calloc(graph->nodes.count + 1, sizeof(*reached));
	bool joined = reached != NULL;

	for (size_t i = 0; joined && i < ends->count; i++)
		reached[ends->nodes[i]->number] = true;
	/* From the back, a node is seen after all that depend on it. */
	for (size_t i = graph->nodes.count; joined && i-- > 0;) {
		const struct CUgraphNode_st *node = graph->nodes.nodes[i];
		for (size_t k = 0; reached[i] && k < node->after_count; k++)
			reached[node->after[k]->number] = true;
	}
	for (size_t i = 0; joined && i < part->count; i++)
		joined = reached[part->nodes[i]->number];
	free(reached);
	return joined;
}

CUresult sim_cuGraphDestroy(CUgraph graph)
{
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < graph->nodes.count; i++)
		node_drop(graph->nodes.nodes[i]);
	user_references_drop(&graph->objects);
	free(graph->nodes.nodes);
	free(graph);
	return CUDA_SUCCESS;
}

/* nodes NULL: only the count. Otherwise *count is the room and becomes what was written; surplus room is cleared. */
static CUresult copy_out(const CUgraphNode *from, size_t available, CUgraphNode *nodes, size_t *count)
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; nodes && i < *count; i++)
		nodes[i] = i < available ? from[i] : NULL;
	if (!nodes || *count > available)
		*count = available;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	return graph ? copy_out(graph->nodes.nodes, graph->nodes.count, nodes, count) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
	if (!node || !type)
		return CUDA_ERROR_INVALID_VALUE;
	*type = node->kind->node;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *count)
{
	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = copy_out(node->after, node->after_count, nodes, count);
	if (result == CUDA_SUCCESS && nodes && edges)
		memset(edges, 0, *count * sizeof(*edges));
	return result;
}

CUresult sim_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags)
{
	if (!graph || !object || !count || flags & ~(unsigned int)CU_GRAPH_USER_OBJECT_MOVE)
		return CUDA_ERROR_INVALID_VALUE;
	if (!user_references_add(&graph->objects, object, count))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return flags & CU_GRAPH_USER_OBJECT_MOVE ? sim_cuUserObjectRelease(object, count) : CUDA_SUCCESS;
}

CUresult sim_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
	if (!graph || !object || !count)
		return CUDA_ERROR_INVALID_VALUE;
	return user_references_remove(&graph->objects, object, count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
