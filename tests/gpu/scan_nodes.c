/* SPDX-License-Identifier: MIT */
/*
 * What a captured scan costs a graph that is replayed without being scanned: 100 nodes of the scan kernel that read
 * nothing, beside 100 kernels that do nothing, behind 100 kernels of the job.
 *   gpu_scan_nodes
 */
#include <stdio.h>
#include <string.h>

#include "rankwatch/operation.h"
#include "timing.h"

enum { NODES = 100, CALLS = 50, BLOCKS = SCAN_BLOCKS, ROOM = 1 << 20 };

enum behind { NOTHING, AN_EMPTY_KERNEL, A_NODE };

struct graphs {
	struct scan_gpu gpu;
	CUdeviceptr memory, word, scratch, nodes, written, mask_at, ring_at;
	volatile uint64_t *mask;
	CUgraphExec graph;
};

static void open_graphs(struct graphs *graphs)
{
	scan_gpu_open(&graphs->gpu);
	graphs->memory = device_memory(ROOM);
	graphs->word = device_memory(8);
	graphs->scratch = device_memory(NODES * sizeof(struct scan_scratch));
	graphs->nodes = device_memory(NODES * sizeof(struct scan_node));
	graphs->written = device_memory(8);
	graphs->mask = device_words(1, &graphs->mask_at);
	device_words(SCAN_REPLAYS * sizeof(struct scan_replay) / 8, &graphs->ring_at);
	graphs->gpu.launch.segment_count = 1;
	graphs->gpu.launch.segments[0] = (struct scan_segment){
		.address = graphs->memory, .elements = ROOM / 2, .sequence = 1, .dtype = RW_DTYPE_BFLOAT16
	};
}

static void launch_node(struct graphs *graphs, uint32_t number)
{
	struct scan_launch *launch = &graphs->gpu.launch;

	launch->scratch = (struct scan_scratch *)(uintptr_t)graphs->scratch + number;
	launch->replays = (struct scan_replays){
		.ring = (struct scan_replay *)(uintptr_t)graphs->ring_at,
		.mask = (const uint64_t *)(uintptr_t)graphs->mask_at,
		.written = (uint64_t *)(uintptr_t)graphs->written,
		.node = (struct scan_node *)(uintptr_t)graphs->nodes + number,
		.number = number,
	};
	scan_gpu_launch(&graphs->gpu, BLOCKS);
}

static void replay(void *argument)
{
	struct graphs *graphs = argument;

	DEVICE_CHECK(cuGraphLaunch(graphs->graph, graphs->gpu.stream));
}

static double replay_us(struct graphs *graphs, enum behind behind)
{
	CUgraph graph;

	DEVICE_CHECK(cuStreamBeginCapture(graphs->gpu.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (uint32_t i = 0; i < NODES; i++) {
		device_stamp(&graphs->gpu.device, graphs->gpu.stream, graphs->word);
		if (behind == AN_EMPTY_KERNEL)
			device_stamp(&graphs->gpu.device, graphs->gpu.stream, graphs->word);
		if (behind == A_NODE)
			launch_node(graphs, i);
	}
	DEVICE_CHECK(cuStreamEndCapture(graphs->gpu.stream, &graph));
	DEVICE_CHECK(cuGraphInstantiateWithFlags(&graphs->graph, graph, 0));
	DEVICE_CHECK(cuGraphDestroy(graph));
	replay(graphs); /* the first replay of a node is always scanned */
	DEVICE_CHECK(cuStreamSynchronize(graphs->gpu.stream));
	const double us = timing_us(&graphs->gpu, CALLS, replay, graphs);

	DEVICE_CHECK(cuGraphExecDestroy(graphs->graph));
	return us;
}

static uint64_t results(const struct graphs *graphs)
{
	uint64_t written;

	DEVICE_CHECK(cuMemcpyDtoH(&written, graphs->written, sizeof(written)));
	return written;
}

int main(void)
{
	static struct graphs graphs;

	open_graphs(&graphs);
	*graphs.mask = UINT64_MAX; /* no replay but the first has none of these bits */
	const double base = replay_us(&graphs, NOTHING);

	timing_number(base, "us", "a replay of %d small kernels", NODES);
	timing_number((replay_us(&graphs, AN_EMPTY_KERNEL) - base) / NODES, "us",
		      "a small kernel more behind each adds, per kernel");
	timing_number((replay_us(&graphs, A_NODE) - base) / NODES, "us",
		      "an idle scan node of %d blocks behind each adds, per node", BLOCKS);
	const bool idle = timing_claim(results(&graphs) == NODES, "only the first replay of each node was scanned");
	DEVICE_CHECK(cuMemsetD8(graphs.nodes, 0, NODES * sizeof(struct scan_node)));
	DEVICE_CHECK(cuCtxSynchronize());
	*graphs.mask = 0;
	timing_number((replay_us(&graphs, A_NODE) - base) / NODES, "us",
		      "a node that scans %d KiB behind each adds, per node", ROOM >> 10);
	return !idle;
}
