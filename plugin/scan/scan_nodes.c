/* SPDX-License-Identifier: MIT */
#include "plugin/scan/scan_nodes.h"

#include <stdlib.h>
#include <string.h>

enum {
	LINE = 64,
	HEAD = offsetof(struct scan_scratch, partials),
	/* of who writes, after results were lost: those next to it are about to be lost, too */
	AHEAD = SCAN_REPLAYS / 4,
};

size_t scan_nodes_host_size(void)
{
	return SCAN_REPLAYS * sizeof(struct scan_replay) + LINE;
}

/* The count of results in a line of its own, nodes, scratch of just as many partials as there are segments. */
size_t scan_nodes_device_size(void)
{
	return LINE + SCAN_NODES * (sizeof(struct scan_node) + HEAD) +
	       SCAN_NODE_SEGMENTS * sizeof(struct scan_partial);
}

/* Written once, so that no page of it faults later. */
static void *table(size_t size)
{
	void *memory = aligned_alloc(LINE, size);

	return memory ? memset(memory, 0, size) : NULL;
}

bool scan_nodes_open(struct scan_nodes *nodes, void *host, uint64_t host_address, uint64_t device_address)
{
	size_t ring_size = SCAN_REPLAYS * sizeof(struct scan_replay);

	*nodes = (struct scan_nodes){
		.mask = (void *)((char *)host + ring_size),
		.replays = { .ring = (struct scan_replay *)(uintptr_t)host_address,
			     .mask = (const uint64_t *)(uintptr_t)(host_address + ring_size),
			     .written = (uint64_t *)(uintptr_t)device_address,
			     .node = (struct scan_node *)(uintptr_t)(device_address + LINE) },
		.scratch = device_address + LINE + SCAN_NODES * sizeof(struct scan_node),
		.calls = table(SCAN_CAPTURED * sizeof(*nodes->calls)),
		.segments = table(SCAN_NODE_SEGMENTS * sizeof(*nodes->segments)),
		.first = table(SCAN_NODES * sizeof(*nodes->first)),
	};
	if (!nodes->calls || !nodes->segments || !nodes->first)
		return false; /* what there is stays: the context is not tried again */
	nodes->ring = host;
	return true;
}

int32_t scan_nodes_call(struct scan_nodes *nodes, const struct scan_captured *call)
{
	uint32_t number = atomic_load_explicit(&nodes->call_count, memory_order_relaxed);

	do {
		if (!nodes->ring || number == SCAN_CAPTURED)
			return -1;
	} while (!atomic_compare_exchange_weak_explicit(&nodes->call_count, &number, number + 1, memory_order_relaxed,
							memory_order_relaxed));
	nodes->calls[number] = *call;
	return (int32_t)number;
}

/* False: the table is full. */
static bool take(struct scan_nodes *nodes, uint32_t segments, uint32_t *number, uint32_t *first)
{
	uint64_t used = atomic_load_explicit(&nodes->used, memory_order_relaxed);

	do {
		*number = (uint32_t)(used >> 32);
		*first = (uint32_t)used;
		if (*number == SCAN_NODES || *first + segments > SCAN_NODE_SEGMENTS)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&nodes->used, &used, used + (UINT64_C(1) << 32) + segments,
							memory_order_relaxed, memory_order_relaxed));
	return true;
}

bool scan_nodes_add(struct scan_nodes *nodes, struct scan_launch *launch, const struct scan_node_segment *segments)
{
	uint32_t number, first;

	if (!take(nodes, launch->segment_count, &number, &first))
		return false;
	nodes->first[number] = first;
	for (uint32_t i = 0; i < launch->segment_count; i++) {
		nodes->segments[first + i] = segments[i];
		/* Relaxed, as all of this: whoever reads it has a result of the node, which came through the driver. */
		atomic_fetch_or_explicit(&nodes->calls[segments[i].call].sides, segments[i].sides,
					 memory_order_relaxed);
	}
	launch->replays = nodes->replays;
	launch->replays.node += number;
	launch->replays.number = number;
	launch->scratch = (struct scan_scratch *)(uintptr_t)(nodes->scratch + (uint64_t)number * HEAD +
							     first * sizeof(struct scan_partial));
	return true;
}

void scan_nodes_sample(struct scan_nodes *nodes, uint64_t mask)
{
	if (nodes->ring)
		atomic_store_explicit(nodes->mask, mask, memory_order_relaxed);
}

/* 0: it is being written. */
static uint64_t sequence_of(const struct scan_replay *at)
{
	/* Acquire: pairs with the kernel's release, after all other fields. */
	return __atomic_load_n(&at->result.sequence, __ATOMIC_ACQUIRE);
}

/* The kernel may write the next result over this one meanwhile, which reading its sequence a second time finds out.
 * ThreadSanitizer cannot know that torn copies are dropped. */
__attribute__((no_sanitize("thread"))) static bool copy(const struct scan_replay *at, struct scan_replay *replay)
{
	const volatile uint64_t *from = (const volatile uint64_t *)at;
	uint64_t *to = (uint64_t *)replay, sequence = sequence_of(at);

	for (size_t i = 0; i < sizeof(*replay) / sizeof(*to); i++)
		to[i] = from[i];
	/* Pairs with the kernel's fence between the 0 and the fields. */
	atomic_thread_fence(memory_order_acquire);
	return __atomic_load_n(&at->result.sequence, __ATOMIC_RELAXED) == sequence;
}

static bool is_known(const struct scan_nodes *nodes, const struct scan_replay *replay)
{
	uint64_t used = atomic_load_explicit(&nodes->used, memory_order_relaxed);

	return replay->node < used >> 32 && replay->segment < SCAN_SEGMENTS &&
	       nodes->first[replay->node] + replay->segment < (uint32_t)used;
}

bool scan_nodes_read(struct scan_nodes *nodes, struct scan_replay *replay, struct scan_node_segment *segment,
		     uint64_t *lost)
{
	for (;;) {
		const struct scan_replay *at = &nodes->ring[nodes->next % SCAN_REPLAYS];
		uint64_t sequence = sequence_of(at);

		if (sequence <= nodes->next)
			return false;
		if (sequence > nodes->next + 1) { /* a turn of the ring, or more, has gone by */
			uint64_t next = sequence - 1 - SCAN_REPLAYS + AHEAD;

			*lost += next - nodes->next;
			nodes->next = next;
			continue;
		}
		if (!copy(at, replay))
			return false;
		nodes->next++;
		if (!is_known(nodes, replay))
			continue;
		*segment = nodes->segments[nodes->first[replay->node] + replay->segment];
		return true;
	}
}
