/* SPDX-License-Identifier: MIT */
/*
 * Executable graphs. Nodes are dealt to lanes: each lane runs its nodes one after the other, the first on the stream
 * that the graph is launched on, the others on streams of their own, so that branches run side by side as on a GPU
 * (two collectives that wait for other ranks must). A launch is one task per lane, whatever the size of the graph.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "sim/cuda/devices/context.h"
#include "sim/cuda/driver/calls.h"
#include "sim/cuda/graphs/capture.h"
#include "sim/cuda/graphs/graph.h"
#include "sim/cuda/streams/event.h"

struct lane {
	CUstream stream; /* NULL for the first lane: the launching one */
	size_t tail;     /* its newest node, while nodes are dealt */
};

struct CUgraphExec_st {
	atomic_uint references; /* the handle and every launch that is not over */
	CUcontext context;
	size_t node_count, lane_count;
	CUgraphNode *nodes;
	size_t *lane_of; /* by node */
	struct lane *lanes;
	struct user_references *objects;
	pthread_mutex_t lock;     /* guards last, and holds launches apart */
	struct stream_point last; /* a launch begins when the one before is over */
};

/* One launch. */
struct graph_run {
	CUgraphExec exec;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	size_t references, running; /* lanes that still use it; lanes that still run, beside the first */
	bool begun;
	struct {
		struct stream_point awaited; /* of an event wait node */
		bool done;
	} nodes[];
};

struct lane_task {
	struct graph_run *run;
	size_t lane;
};

static void exec_drop(CUgraphExec exec)
{
	if (atomic_fetch_sub(&exec->references, 1) > 1)
		return;
	for (size_t i = 1; i < exec->lane_count; i++) {
		if (exec->lanes[i].stream)
			stream_close(exec->lanes[i].stream);
	}
	for (size_t i = 0; i < exec->node_count; i++)
		node_drop(exec->nodes[i]);
	user_references_drop(&exec->objects);
	stream_point_drop(&exec->last);
	pthread_mutex_destroy(&exec->lock);
	free(exec->nodes);
	free(exec->lane_of);
	free(exec->lanes);
	free(exec);
}

static void wait_for(struct graph_run *run, const struct CUgraphNode_st *node)
{
	for (size_t i = 0; i < node->after_count; i++) {
		while (!run->nodes[node->after[i]->number].done)
			pthread_cond_wait(&run->moved, &run->lock);
	}
}

static void run_node(struct graph_run *run, CUgraphNode node)
{
	if (node->kind->node == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
		stream_point_wait(&run->nodes[node->number].awaited);
	else
		node->kind->run(node->payload);
}

static void run_nodes(struct graph_run *run, size_t lane)
{
	CUgraphExec exec = run->exec;

	for (size_t i = 0; i < exec->node_count; i++) {
		if (exec->lane_of[i] != lane)
			continue;
		wait_for(run, exec->nodes[i]);
		pthread_mutex_unlock(&run->lock);
		run_node(run, exec->nodes[i]);
		pthread_mutex_lock(&run->lock);
		run->nodes[i].done = true;
		pthread_cond_broadcast(&run->moved);
	}
}

static void run_lane(void *payload)
{
	struct lane_task *task = payload;
	struct graph_run *run = task->run;

	pthread_mutex_lock(&run->lock);
	if (task->lane == 0) {
		run->begun = true;
		pthread_cond_broadcast(&run->moved);
	}
	while (!run->begun)
		pthread_cond_wait(&run->moved, &run->lock);
	run_nodes(run, task->lane);
	if (task->lane) {
		run->running--;
		pthread_cond_broadcast(&run->moved);
	}
	while (task->lane == 0 && run->running)
		pthread_cond_wait(&run->moved, &run->lock);
	pthread_mutex_unlock(&run->lock);
}

static void drop_lane(void *payload)
{
	struct graph_run *run = ((struct lane_task *)payload)->run;

	pthread_mutex_lock(&run->lock);
	bool last = --run->references == 0;
	pthread_mutex_unlock(&run->lock);
	if (!last)
		return;
	for (size_t i = 0; i < run->exec->node_count; i++)
		stream_point_drop(&run->nodes[i].awaited);
	exec_drop(run->exec);
	pthread_cond_destroy(&run->moved);
	pthread_mutex_destroy(&run->lock);
	free(run);
}

static const struct task_kind lane_task = { CU_GRAPH_NODE_TYPE_GRAPH, run_lane, drop_lane, QUEUE_WHEN_IT_BEGINS };

/* One row of bits per node: the nodes before it. */
struct before {
	size_t words; /* of a row */
	uint64_t *bits;
};

static bool is_before(const struct before *before, size_t first, size_t second)
{
	return before->bits[second * before->words + first / 64] >> first % 64 & 1;
}

static void mark_before(const struct before *before, const struct CUgraphNode_st *node)
{
	uint64_t *row = &before->bits[node->number * before->words];

	for (size_t a = 0; a < node->after_count; a++) {
		size_t direct = node->after[a]->number;
		for (size_t word = 0; word < before->words; word++)
			row[word] |= before->bits[direct * before->words + word];
		row[direct / 64] |= (uint64_t)1 << direct % 64;
	}
}

/* The lane whose newest node is before this one and nearest to it; otherwise a new one. */
static size_t choose_lane(CUgraphExec exec, const struct before *before, size_t node)
{
	size_t best = exec->lane_count;

	for (size_t lane = 0; lane < exec->lane_count; lane++) {
		size_t tail = exec->lanes[lane].tail;
		if (is_before(before, tail, node) && (best == exec->lane_count || tail > exec->lanes[best].tail))
			best = lane;
	}
	if (best == exec->lane_count)
		exec->lane_count++;
	return best;
}

static bool deal(CUgraphExec exec)
{
	struct before before = { .words = exec->node_count / 64 + 1 };

	before.bits = calloc(exec->node_count + 1, before.words * sizeof(uint64_t));
	exec->lane_of = calloc(exec->node_count + 1, sizeof(*exec->lane_of));
	exec->lanes = calloc(exec->node_count + 1, sizeof(*exec->lanes));
	bool dealt = before.bits && exec->lane_of && exec->lanes;
	for (size_t i = 0; dealt && i < exec->node_count; i++) {
		mark_before(&before, exec->nodes[i]);
		exec->lane_of[i] = choose_lane(exec, &before, i);
		exec->lanes[exec->lane_of[i]].tail = i;
	}
	free(before.bits);
	return dealt;
}

/* With a first task, so that their threads run and no launch can fail halfway. */
static bool open_lanes(CUgraphExec exec)
{
	for (size_t i = 1; i < exec->lane_count; i++) {
		struct lane *lane = &exec->lanes[i];
		lane->stream = stream_new(exec->context, CU_STREAM_NON_BLOCKING, 0);
		if (lane->stream)
			lane->stream->hardware = NULL;
		if (!lane->stream || stream_submit(lane->stream, &stream_nothing, "", 0, NULL) != CUDA_SUCCESS)
			return false;
	}
	return true;
}

static bool take_nodes(CUgraphExec exec, CUgraph graph)
{
	exec->nodes = calloc(graph->nodes.count + 1, sizeof(CUgraphNode));
	for (size_t i = 0; exec->nodes && i < graph->nodes.count; i++) {
		exec->nodes[i] = graph->nodes.nodes[i];
		atomic_fetch_add(&exec->nodes[i]->references, 1);
		exec->node_count++;
	}
	return exec->nodes && user_references_copy(&exec->objects, graph->objects);
}

CUresult sim_cuGraphInstantiate(CUgraphExec *handle, CUgraph graph, unsigned long long flags)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!handle || !graph || flags & ~15ull)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return CUDA_ERROR_NOT_SUPPORTED;
	CUgraphExec exec = calloc(1, sizeof(*exec));
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_init(&exec->references, 1);
	pthread_mutex_init(&exec->lock, NULL);
	exec->context = context;
	if (!take_nodes(exec, graph) || !deal(exec) || !open_lanes(exec)) {
		exec_drop(exec);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*handle = exec;
	return CUDA_SUCCESS;
}

static struct graph_run *run_new(CUgraphExec exec)
{
	struct graph_run *run = calloc(1, sizeof(*run) + exec->node_count * sizeof(run->nodes[0]));
	size_t lanes = exec->lane_count ? exec->lane_count : 1; /* an empty graph still takes its turn on the stream */

	if (!run)
		return NULL;
	atomic_fetch_add(&exec->references, 1);
	run->exec = exec;
	run->references = lanes;
	run->running = lanes - 1;
	pthread_mutex_init(&run->lock, NULL);
	pthread_cond_init(&run->moved, NULL);
	/* Before the launch's own event records: a graph may wait for an event that it records itself later. */
	for (size_t i = 0; i < exec->node_count; i++) {
		if (exec->nodes[i]->kind->node == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
			run->nodes[i].awaited = event_awaited(exec->nodes[i]->payload);
	}
	return run;
}

static void events_launched(CUgraphExec exec, size_t lane, const struct stream_point *at)
{
	for (size_t i = 0; i < exec->node_count; i++) {
		if (exec->lane_of[i] == lane && exec->nodes[i]->kind->node == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
			event_record_launched(exec->nodes[i]->payload, at);
	}
}

static CUresult submit_lane(struct graph_run *run, CUstream stream, size_t lane, struct stream_point *at)
{
	struct lane_task task = { run, lane };
	CUgraphExec exec = run->exec; /* a run may be over, and gone, when its last lane has been submitted */
	CUresult result = stream_submit(stream, &lane_task, &task, sizeof(task), at);

	if (result == CUDA_SUCCESS)
		events_launched(exec, lane, at);
	return result;
}

/* The first lane goes first: should its stream refuse, nothing has been launched. */
static CUresult launch_locked(CUgraphExec exec, CUstream stream)
{
	struct stream_point at, before = stream_point_copy(&exec->last);
	CUresult result = stream_submit_wait(stream, &before);
	struct graph_run *run = result == CUDA_SUCCESS ? run_new(exec) : NULL;

	if (!run)
		return result == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : result;
	result = submit_lane(run, stream, 0, &at);
	if (result != CUDA_SUCCESS) {
		run->references = 1;
		drop_lane(&(struct lane_task){ run, 0 });
		return result;
	}
	stream_point_drop(&exec->last);
	exec->last = at;
	for (size_t lane = 1; lane < exec->lane_count && result == CUDA_SUCCESS; lane++) {
		result = submit_lane(run, exec->lanes[lane].stream, lane, &at);
		stream_point_drop(&at);
	}
	return result;
}

CUresult sim_cuGraphLaunch(CUgraphExec exec, CUstream handle)
{
	CUstream stream;
	bool captured;
	CUresult result = exec ? stream_resolve(handle, &stream) : CUDA_ERROR_INVALID_VALUE;

	if (result == CUDA_SUCCESS)
		result = capture_covers(stream, &captured);
	if (result != CUDA_SUCCESS || captured)
		return captured ? CUDA_ERROR_NOT_SUPPORTED : result;
	pthread_mutex_lock(&exec->lock);
	result = launch_locked(exec, stream);
	pthread_mutex_unlock(&exec->lock);
	return result;
}

/* There is nothing to bring to a device. */
CUresult sim_cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	return exec ? stream_resolve(stream, &stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphExecDestroy(CUgraphExec exec)
{
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	exec_drop(exec);
	return CUDA_SUCCESS;
}
