/* SPDX-License-Identifier: MIT */
/*
 * Records of the BPF programs on a tape: each thread's as the difference from the one before. Their times are kept to
 * KERNEL_GRAIN_NS: nanoseconds are noise, and noise would be most of a tape; findings begin at 20 ms.
 */
#ifndef TESTS_TAPES_KERNEL_CODING_H
#define TESTS_TAPES_KERNEL_CODING_H

#include <sys/types.h>

#include <rankwatch/kernel_event.h>

#include "tape.h"

enum { KERNEL_GRAIN_BITS = 16, KERNEL_GRAIN_NS = 1 << KERNEL_GRAIN_BITS };
enum { KERNEL_FRAMES = 12, KERNEL_THREADS = 4096, KERNEL_WORDS = sizeof(struct rw_kernel_wait) / 8 };

/* With the stack as numbers of frames. */
struct kernel_record {
	union {
		struct rw_kernel_wait wait;
		uint64_t words[KERNEL_WORDS];
	};
	uint32_t frames[KERNEL_FRAMES];
	uint32_t frame_count;
};

/* What was last coded of each thread, waits and looks apart. */
struct kernel_memory {
	struct kernel_record records[KERNEL_THREADS];
	bool live[KERNEL_THREADS]; /* of looks: the thread was there in the last one */
	size_t count;
};

/* The thread's place in memory, made if there is none; NULL: no room. */
struct kernel_record *kernel_memory_of(struct kernel_memory *memory, bool look, uint32_t tid);

static inline uint64_t kernel_coarse(uint64_t ns)
{
	return ns & ~(uint64_t)(KERNEL_GRAIN_NS - 1);
}

/* All times of it. */
void kernel_record_coarsen(struct kernel_record *record);
/* Its times are coarse. `streams`: all of a tape's; what is no word goes to `stream`, TAPE_KERNEL or TAPE_LOOK. */
void put_kernel(struct buffer *streams, int stream, struct kernel_memory *memory, const struct kernel_record *record);
/* NULL: damaged. The record is in memory until the thread's next one. */
const struct kernel_record *take_kernel(struct span *streams, int stream, struct kernel_memory *memory);

#endif
