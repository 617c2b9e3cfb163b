/* SPDX-License-Identifier: MIT */
/*
 * A batch is one launch, from the first segment that is put into it until its results have been taken. It owns its
 * result slots and its scratch on the device, so that nothing has to be allocated or reset between launches. What the
 * path of a collective does with it is inlined.
 */
#ifndef PLUGIN_SCAN_SCAN_BATCH_H
#define PLUGIN_SCAN_SCAN_BATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/scan/scan_buffers.h"
#include "plugin/scan/scan_device.h"

/* When and into which stream a batch is launched: always one that the program or NCCL has chosen. A stream of our own
 * that several of theirs share would order those streams, on another rank perhaps the other way round, and both ranks
 * would wait for ever. */
enum scan_place {
	SCAN_BEFORE_CALL, /* on the user's stream, before the real NCCL function */
	SCAN_BEHIND_CALL, /* on the user's stream, after it */
	SCAN_BEHIND_PLAN, /* on the plan's stream, behind its kernel */
};

struct scan_entry {
	uint64_t ticket; /* of the operation; of a captured batch: index of the call, scan_nodes_call() */
	uint32_t owner;  /* RW_OWNER_SCAN_IN, RW_OWNER_SCAN_OUT or both */
};

struct scan_batch {
	struct scan_device *device;
	struct scan_batch *next; /* of the thread that fills it */
	uint32_t number, word; /* which one it is, and in which word its bit is */
	uint64_t bit;
	enum scan_place place;
	uint64_t stream;   /* into which it is launched */
	uint64_t sequence; /* of all its results; grows with each use */
	uint64_t bytes;
	bool captured; /* it becomes a node of a graph, and is free again at once */
	bool capture_is_known; /* whether the stream is captured is known: the driver is not queried */
	struct scan_entry entries[SCAN_SEGMENTS];
	struct scan_launch launch;
};

static inline struct scan_batch *scan_batch_at(const struct scan_device *device, uint32_t word, uint64_t bits)
{
	return &device->batches[word * 64 + (uint32_t)__builtin_ctzll(bits)];
}

/* A batch without segments, or NULL: all are in flight. Lock-free, any thread. */
static inline __attribute__((always_inline)) struct scan_batch *scan_batch_take(struct scan_device *device)
{
	for (uint32_t word = 0; word < SCAN_BATCH_WORDS; word++) {
		/* Acquire: pairs with the release in scan_batch_give(). */
		uint64_t bits = atomic_load_explicit(&device->free[word], memory_order_acquire);

		while (bits) {
			if (!atomic_compare_exchange_weak_explicit(&device->free[word], &bits, bits & (bits - 1),
								   memory_order_acquire, memory_order_acquire))
				continue;
			struct scan_batch *batch = scan_batch_at(device, word, bits);

			batch->launch.segment_count = 0;
			batch->bytes = 0;
			batch->sequence++;
			return batch;
		}
	}
	return NULL;
}

/* Gives it back: it was not launched, or its results have been taken. */
void scan_batch_give(struct scan_batch *batch);

static inline uint32_t scan_batch_room(const struct scan_batch *batch)
{
	return SCAN_SEGMENTS - batch->launch.segment_count;
}

/* Adds a segment, whose place in the launch is its place in `entries`. */
static inline __attribute__((always_inline)) void
scan_batch_add(struct scan_batch *batch, const struct scan_buffer *buffer, uint64_t ticket, uint32_t owner)
{
	uint64_t place = batch->launch.segment_count;
	struct scan_segment *segment = &batch->launch.segments[place];

	segment->address = buffer->address;
	segment->elements = buffer->elements;
	segment->sequence = batch->sequence;
	segment->slot = (uint32_t)place;
	segment->dtype = buffer->dtype;
	segment->flags = buffer->flags;
	batch->entries[place].ticket = ticket;
	batch->entries[place].owner = owner;
	batch->launch.segment_count = (uint32_t)place + 1;
	batch->bytes += buffer->bytes;
}

static inline unsigned int scan_batch_blocks(const struct scan_batch *batch)
{
	uint64_t before_last = (batch->bytes - 1) / SCAN_TILE_BYTES; /* tiles; a batch has bytes */

	return before_last < batch->device->blocks ? (unsigned int)before_last + 1 : batch->device->blocks;
}

/* Launches it; returns the CUDA error. */
static inline int scan_batch_launch(struct scan_batch *batch, const struct driver *driver, uint64_t stream)
{
	void *arguments[] = { &batch->launch };

	return driver->scan.launch(batch->device->kernel, scan_batch_blocks(batch), 1, 1, SCAN_THREADS, 1, 1, 0,
				   (driver_stream)(uintptr_t)stream, arguments, NULL);
}

/* Launches it as a node into a stream that is being captured. False: there is no room for another node. */
bool scan_batch_capture(struct scan_batch *batch, const struct driver *driver, int *error);

/* After its launch: from now on it belongs to the thread that takes its results. */
static inline void scan_batch_publish(struct scan_batch *batch)
{
	/* Release: who takes the results sees the entries. */
	atomic_fetch_or_explicit(&batch->device->launched[batch->word], batch->bit, memory_order_release);
}

/* The launched batches of a word, one bit each; scan_batch_at() is the batch of the lowest bit. */
static inline uint64_t scan_batches_launched(const struct scan_device *device, uint32_t word)
{
	/* Acquire: pairs with the release in scan_batch_publish(). */
	return atomic_load_explicit(&device->launched[word], memory_order_acquire);
}

/* The results, one per segment, or NULL: not there yet. No CUDA call. */
const struct scan_result *scan_batch_results(const struct scan_batch *batch);

#endif
