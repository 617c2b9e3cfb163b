/* SPDX-License-Identifier: MIT */
/*
 * Is a result whole once its sequence is there? Launches in flight all the time, as the plugin has them, each with
 * slots and scratch of its own; the host spins on every slot while the GPU writes it, without a CUDA call, and compares
 * all of it. Each slot's buffer is as long as its sequence says, so that no two results of a slot in turn are alike.
 *   gpu_scan_slots [SECONDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rankwatch/operation.h"
#include "tests/unit/plugin/scan_reference.h"
#include "timing.h"

enum { BATCHES = 64, LENGTHS = 61, ROOM = 4096, LOST_S = 20 };

struct slots {
	struct scan_gpu gpu;
	CUdeviceptr memory;
	struct scan_launch launches[BATCHES];
	struct scan_result expected[LENGTHS]; /* of that many elements */
	uint64_t read, torn;
};

static uint64_t length_of(uint64_t sequence)
{
	return sequence % LENGTHS;
}

static void open_slots(struct slots *slots)
{
	const size_t size = sizeof(struct scan_result) * SCAN_SEGMENTS;
	uint32_t words[LENGTHS];
	void *results;

	scan_gpu_open(&slots->gpu);
	const CUdeviceptr scratch = device_memory(BATCHES * sizeof(struct scan_scratch));

	DEVICE_CHECK(cuMemHostAlloc(&results, BATCHES * size, CU_MEMHOSTALLOC_PORTABLE));
	memset(results, 0, BATCHES * size);
	for (uint32_t i = 0; i < BATCHES; i++)
		slots->launches[i] = (struct scan_launch){
			.slots = (struct scan_result *)results + i * SCAN_SEGMENTS,
			.scratch = (struct scan_scratch *)(uintptr_t)scratch + i,
			.segment_count = SCAN_SEGMENTS,
		};
	slots->memory = device_memory(ROOM);
	for (uint32_t i = 0; i < LENGTHS; i++)
		words[i] = i % 7 == 5 ? 0x7fc00001 + i : i % 11 == 3 ? 0xff800000 : 0x3f800000 + i * 12345;
	DEVICE_CHECK(cuMemcpyHtoD(slots->memory, words, sizeof(words)));
	for (uint32_t i = 0; i < LENGTHS; i++)
		reference_scan(RW_DTYPE_FLOAT32, 0, words, i, &slots->expected[i]);
}

static void launch(struct slots *slots, uint32_t number, uint64_t sequence)
{
	struct scan_launch *launch = &slots->launches[number];

	for (uint32_t i = 0; i < SCAN_SEGMENTS; i++)
		launch->segments[i] = (struct scan_segment){ .address = slots->memory,
							     .elements = length_of(sequence + i),
							     .slot = i,
							     .sequence = sequence + i,
							     .dtype = RW_DTYPE_FLOAT32 };
	slots->gpu.launch = *launch;
	scan_gpu_launch(&slots->gpu, 1);
}

static bool is_whole(const struct scan_result *got, const struct scan_result *want)
{
	return got->nan == want->nan && got->inf == want->inf && got->first_bad == want->first_bad &&
	       got->absmax == want->absmax && got->saturated == 0 && got->digest == want->digest &&
	       got->lane_sum == want->lane_sum && got->gpu_start_ns <= got->gpu_end_ns;
}

static bool read_slot(struct slots *slots, const struct scan_result *slot, uint64_t sequence)
{
	const uint64_t end_ns = device_host_ns() + LOST_S * 1000000000ULL;

	while (__atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE) != sequence) {
		if (device_host_ns() > end_ns)
			return timing_claim(false, "result %llu came within %d s", (unsigned long long)sequence,
					    LOST_S);
	}
	slots->read++;
	slots->torn += !is_whole(slot, &slots->expected[length_of(sequence)]);
	return true;
}

static bool read_batch(struct slots *slots, uint32_t number, uint64_t sequence)
{
	/* The last one first: it is as likely to be the first one that the GPU writes. */
	for (uint32_t i = SCAN_SEGMENTS; i-- > 0;)
		if (!read_slot(slots, &slots->launches[number].slots[i], sequence + i))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	static struct slots slots;
	double seconds = argc == 2 ? strtod(argv[1], NULL) : 5;

	if (seconds <= 0 || argc > 2) {
		fprintf(stderr, "usage: gpu_scan_slots [SECONDS]\n");
		return 2;
	}
	open_slots(&slots);
	const uint64_t end_ns = device_host_ns() + (uint64_t)(seconds * 1e9);
	bool all = true;
	/* A sequence that is new to each slot, and no multiple of the number of lengths later. */
	for (uint64_t turn = 0; all && (turn < BATCHES || device_host_ns() < end_ns); turn++) {
		if (turn >= BATCHES)
			all = read_batch(&slots, (uint32_t)(turn % BATCHES), 1 + (turn - BATCHES) * SCAN_SEGMENTS);
		if (all)
			launch(&slots, (uint32_t)(turn % BATCHES), 1 + turn * SCAN_SEGMENTS);
	}
	timing_number((double)slots.read, "slots", "results read while the GPU wrote them");
	return !timing_claim(all && slots.torn == 0 && slots.read, "%llu of them were not whole",
			     (unsigned long long)slots.torn);
}
