/* SPDX-License-Identifier: MIT */
/*
 * Which operations have GPU progress and which are scanned, when not all are.
 *
 * What is compared between ranks is decided from what all ranks know alike, never from this one's load or clock: the
 * operation's name, its size, and how many small operations in a row its communicator has seen. One in `every` is
 * taken, a power of two: the sets nest, so ranks that sample differently still share the sparser set.
 *
 * The first operations of each function are scanned whatever `every` is, while the budget has something for them: the
 * first training steps are among them, and are not known as such.
 *
 * Small operations of a long row, as in an AllReduce loop of 8 bytes, are sampled from the start: two writes around an
 * operation of ten microseconds would be felt. The first few behind a large one, as a gradient norm or a loss, are not.
 *
 * So that a hang is also seen where it strikes, an operation that comes after a pause has GPU progress all the same.
 * That hangs on this rank's clock, so its times are flagged as not to be compared (RW_FLAG_PROGRESS_SAMPLED_OUT).
 */
#ifndef PLUGIN_COST_SAMPLING_H
#define PLUGIN_COST_SAMPLING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/operation.h>

#include "plugin/nccl/dtype.h"

enum {
	SAMPLING_SMALL_BYTES = 1 << 16, /* an operation of less, over all ranks, is small */
	SAMPLING_ROW = 8,               /* so many small ones in a row are taken as large ones are */
	SAMPLING_SMALL_EVERY = 16,      /* of the others one in so many, at most */
	SAMPLING_PAUSES = 8,            /* what a pause saves up, in operations */
	SAMPLING_PAUSE_NS = 2000000,    /* for each: two writes in so long are about a thousandth of the time */
};

/* What names an operation on all its ranks. A send and its receive have the same name: function SEND, sender and
 * receiver in `ranks`. */
struct sampling_name {
	uint64_t communicator; /* id, equal on all ranks */
	uint64_t sequence;
	uint64_t ranks; /* sender << 32 | receiver; collectives: 0 */
	uint8_t function;
};

/* A communicator's. Zeroed: none called yet. Its calls come one after the other, if from several threads. */
struct sampling_row {
	_Atomic uint32_t small;   /* in a row, up to SAMPLING_ROW */
	_Atomic uint64_t paid_ns; /* the time up to here has paid for operations, what comes after it can */
};

/* The same number on all ranks. */
uint64_t sampling_number(const struct sampling_name *name);

/* every: a power of two; 0 = none is. */
static inline bool sampling_takes_number(uint64_t number, uint32_t every)
{
	return every && (number & (every - 1)) == 0;
}

static inline bool sampling_takes(const struct sampling_name *name, uint32_t every)
{
	return every <= 1 ? every : sampling_takes_number(sampling_number(name), every);
}

/* Of one of its function's first operations, `first` of them: is it scanned as if the budget turned nothing down? */
static inline bool sampling_takes_first(uint64_t number, uint64_t sequence, uint64_t first, uint32_t least)
{
	return sequence < first && sampling_takes_number(number, least);
}

/* Functions whose count is that of one rank's part. */
static inline bool sampling_has_parts(uint8_t function)
{
	const uint32_t functions = 1u << RW_FUNCTION_ALL_GATHER | 1u << RW_FUNCTION_REDUCE_SCATTER |
				   1u << RW_FUNCTION_ALL_TO_ALL | 1u << RW_FUNCTION_GATHER | 1u << RW_FUNCTION_SCATTER;

	return functions >> function % RW_FUNCTION_COUNT & 1;
}

/* The bytes of a collective over all its ranks; nranks 0: not known, counts as 1. A type that is not known counts as
 * one byte. */
static inline uint64_t sampling_bytes(uint8_t function, uint8_t dtype, uint64_t count, int32_t nranks)
{
	uint64_t element = dtype == RW_DTYPE_UNKNOWN ? 1 : dtype_size(dtype);
	uint64_t parts = nranks > 1 && sampling_has_parts(function) ? (uint64_t)nranks : 1;
	uint64_t bytes;

	if (__builtin_mul_overflow(count, element * parts, &bytes))
		return UINT64_MAX;
	return bytes;
}

/* Once for each collective of the communicator, in their order: at most one in so many of its kind is taken. */
static inline uint32_t sampling_least(struct sampling_row *row, uint64_t bytes)
{
	uint32_t small = atomic_load_explicit(&row->small, memory_order_relaxed);

	if (bytes >= SAMPLING_SMALL_BYTES) {
		if (small)
			atomic_store_explicit(&row->small, 0, memory_order_relaxed);
		return 1;
	}
	if (small >= SAMPLING_ROW)
		return SAMPLING_SMALL_EVERY;
	atomic_store_explicit(&row->small, small + 1, memory_order_relaxed);
	return 1;
}

/* Of an operation whose turn it is not, called at this time: has there been a pause that pays for it all the same? */
static inline bool sampling_after_pause(struct sampling_row *row, uint64_t now_ns)
{
	const uint64_t most = SAMPLING_PAUSES * (uint64_t)SAMPLING_PAUSE_NS;
	uint64_t paid_ns = atomic_load_explicit(&row->paid_ns, memory_order_relaxed);

	if (now_ns > most && paid_ns < now_ns - most)
		paid_ns = now_ns - most;
	if (now_ns < paid_ns + SAMPLING_PAUSE_NS)
		return false;
	atomic_store_explicit(&row->paid_ns, paid_ns + SAMPLING_PAUSE_NS, memory_order_relaxed);
	return true;
}

#endif
