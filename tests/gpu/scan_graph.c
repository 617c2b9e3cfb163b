/* SPDX-License-Identifier: MIT */
/*
 * The scan kernel as a node of a CUDA graph: captured in each mode, replayed many times, each replay's result looked
 * at; as the plugin captures it, with a ring that replays write to one behind the other; what the node adds to a
 * replay. gpu_scan_graph [REPLAYS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rankwatch/operation.h"
#include "tests/unit/plugin/scan_reference.h"
#include "timing.h"

enum { ELEMENTS = 40000, REPLAYS = 10000, REPLAYS_STAND_IN = 100, CALLS = 100, BLOCKS = 2 };

struct replaying {
	struct scan_gpu gpu;
	CUdeviceptr memory, word;
	struct scan_result expected;
	struct scan_replay *ring; /* pinned */
	CUgraphExec graph;
};

static void open_all(struct replaying *replaying)
{
	static uint16_t values[ELEMENTS];

	scan_gpu_open(&replaying->gpu);
	replaying->memory = device_memory(sizeof(values));
	replaying->word = device_memory(8);
	for (uint32_t i = 0; i < ELEMENTS; i++)
		values[i] = i % 9999 == 77 ? 0x7fc0 : (uint16_t)(0x3f00 + i % 128);
	DEVICE_CHECK(cuMemcpyHtoD(replaying->memory, values, sizeof(values)));
	reference_scan(RW_DTYPE_BFLOAT16, 0, values, ELEMENTS, &replaying->expected);
	replaying->gpu.launch.segment_count = 1;
	replaying->gpu.launch.segments[0] = (struct scan_segment){
		.address = replaying->memory, .elements = ELEMENTS, .sequence = 7, .dtype = RW_DTYPE_BFLOAT16
	};
}

static void capture(struct replaying *replaying, CUstreamCaptureMode mode, bool scans)
{
	CUgraph graph;

	DEVICE_CHECK(cuStreamBeginCapture(replaying->gpu.stream, mode));
	device_stamp(&replaying->gpu.device, replaying->gpu.stream, replaying->word);
	if (scans)
		scan_gpu_launch(&replaying->gpu, BLOCKS);
	DEVICE_CHECK(cuStreamEndCapture(replaying->gpu.stream, &graph));
	DEVICE_CHECK(cuGraphInstantiateWithFlags(&replaying->graph, graph, 0));
	DEVICE_CHECK(cuGraphDestroy(graph));
}

static void replay(void *argument)
{
	struct replaying *replaying = argument;

	DEVICE_CHECK(cuGraphLaunch(replaying->graph, replaying->gpu.stream));
}

static bool is_right(const struct replaying *replaying, const struct scan_result *got, uint64_t sequence)
{
	const struct scan_result *want = &replaying->expected;

	return got->sequence == sequence && got->nan == want->nan && got->first_bad == want->first_bad &&
	       got->absmax == want->absmax && got->digest == want->digest && got->lane_sum == want->lane_sum;
}

static bool replay_is_right(struct replaying *replaying)
{
	struct scan_result *slot = &replaying->gpu.launch.slots[0];

	*slot = (struct scan_result){ 0 };
	replay(replaying);
	DEVICE_CHECK(cuStreamSynchronize(replaying->gpu.stream));
	return is_right(replaying, slot, 7);
}

static bool check_mode(struct replaying *replaying, CUstreamCaptureMode mode, const char *name, uint64_t replays)
{
	uint64_t right = 0;

	capture(replaying, mode, true);
	for (uint64_t i = 0; i < replays; i++)
		right += replay_is_right(replaying);
	DEVICE_CHECK(cuGraphExecDestroy(replaying->graph));
	return timing_claim(right == replays, "captured in mode %s: %llu of %llu replays gave the result", name,
			    (unsigned long long)right, (unsigned long long)replays);
}

/* What a node of the plugin has: a ring and a mask in pinned memory, the rest on the device. */
static void make_node(struct replaying *replaying)
{
	void *ring, *mask;

	DEVICE_CHECK(cuMemHostAlloc(&ring, SCAN_REPLAYS * sizeof(struct scan_replay), CU_MEMHOSTALLOC_PORTABLE));
	DEVICE_CHECK(cuMemHostAlloc(&mask, sizeof(uint64_t), CU_MEMHOSTALLOC_PORTABLE));
	memset(ring, 0, SCAN_REPLAYS * sizeof(struct scan_replay));
	*(uint64_t *)mask = 0;
	replaying->ring = ring;
	replaying->gpu.launch.replays = (struct scan_replays){
		.ring = ring,
		.mask = mask,
		.written = (uint64_t *)(uintptr_t)device_memory(sizeof(uint64_t)),
		.node = (struct scan_node *)(uintptr_t)device_memory(sizeof(struct scan_node)),
		.number = 3,
	};
}

/* Replays back to back, as many as the ring has places; then each has its place, in order. */
static uint64_t play_turn(struct replaying *replaying, uint64_t first, uint64_t replays)
{
	uint64_t right = 0;

	for (uint64_t i = 0; i < replays; i++)
		replay(replaying);
	DEVICE_CHECK(cuStreamSynchronize(replaying->gpu.stream));
	for (uint64_t i = first; i < first + replays; i++) {
		const struct scan_replay *at = &replaying->ring[i % SCAN_REPLAYS];

		right += is_right(replaying, &at->result, i + 1) && at->replay == i && at->node == 3 && !at->segment;
	}
	return right;
}

static bool check_ring(struct replaying *replaying, uint64_t replays)
{
	uint64_t right = 0;

	make_node(replaying);
	capture(replaying, CU_STREAM_CAPTURE_MODE_RELAXED, true);
	for (uint64_t done = 0; done < replays; done += SCAN_REPLAYS)
		right += play_turn(replaying, done, replays - done < SCAN_REPLAYS ? replays - done : SCAN_REPLAYS);
	DEVICE_CHECK(cuGraphExecDestroy(replaying->graph));
	replaying->gpu.launch.replays = (struct scan_replays){ 0 };
	return timing_claim(right == replays, "through the ring: %llu of %llu replays gave the result in their place",
			    (unsigned long long)right, (unsigned long long)replays);
}

static double replay_us(struct replaying *replaying, bool scans)
{
	capture(replaying, CU_STREAM_CAPTURE_MODE_RELAXED, scans);
	const double us = timing_us(&replaying->gpu, CALLS, replay, replaying);
	DEVICE_CHECK(cuGraphExecDestroy(replaying->graph));
	return us;
}

int main(int argc, char **argv)
{
	static struct replaying replaying;
	char *end = "";
	uint64_t replays = argc > 1 ? strtoull(argv[1], &end, 10) : 0;
	bool right;

	if (argc > 2 || *end || (argc > 1 && !replays)) {
		fprintf(stderr, "usage: gpu_scan_graph [REPLAYS]\n");
		return 2;
	}
	open_all(&replaying);
	if (!replays)
		replays = replaying.gpu.stand_in ? REPLAYS_STAND_IN : REPLAYS;
	right = check_mode(&replaying, CU_STREAM_CAPTURE_MODE_GLOBAL, "global", replays);
	right &= check_mode(&replaying, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, "thread local", replays);
	right &= check_mode(&replaying, CU_STREAM_CAPTURE_MODE_RELAXED, "relaxed", replays);
	right &= check_ring(&replaying, replays);
	const double without = replay_us(&replaying, false);
	timing_number(replay_us(&replaying, true) - without, "us",
		      "what a scan node of 78 KiB adds to a graph's replay");
	return !right;
}
