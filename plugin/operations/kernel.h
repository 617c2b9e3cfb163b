/* SPDX-License-Identifier: MIT */
/*
 * The GPU's own times of an operation's kernel, from NCCL's KernelCh events: one start and one stop per channel, given
 * by NCCL's proxy thread (its profiler thread from 2.31 on) after the fact. Kept beside the box until the last channel
 * has stopped, then written into the slot once. Only with RANKWATCH_KERNELCH=1.
 *
 * No pending bit waits for these events: where NCCL sends none (copy engines, symmetric kernels before 2.31, abort) the
 * operation would look in flight for ever. So an event can come when its slot has moved on, and NCCL does hand in
 * handles that are long stopped. Each event is therefore checked against the ticket here, and the slot is held for the
 * moment of the write.
 *
 * All of it is wait-free: two threads at one operation never happen in NCCL; if they do, the second does nothing and
 * the operation stays without times.
 */
#ifndef PLUGIN_OPERATIONS_KERNEL_H
#define PLUGIN_OPERATIONS_KERNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blackbox/writer.h"
#include "plugin/guest/try_lock.h"

enum { KERNEL_CHANNELS = 64 /* NCCL's MAXCHANNELS */ };

/* By slot. Zeroed: expects nothing. All but `lock` belongs to whoever has the lock. */
struct kernel {
	try_lock lock;
	uint16_t comm;
	uint8_t channels;          /* as announced by the task */
	bool watermark;            /* gpu_source is the drain's */
	uint64_t ticket;           /* 0 = nothing (more) to expect */
	uint64_t started, stopped; /* bit per channel */
	uint64_t start_raw, end_raw;
};

/* By slot; NULL without RANKWATCH_KERNELCH=1. Hidden, as in recording.h. */
extern __attribute__((visibility("hidden"))) struct kernel *kernels;

/* Once per process: from now on times of kernels are recorded. False: no memory. */
bool kernels_open(const struct box_writer *box);

static inline bool kernels_are_recorded(void)
{
	return kernels;
}

/* Of the slot that the ticket has, or had; NULL: none are recorded. */
static inline struct kernel *kernel_find(const struct box_writer *box, uint64_t ticket)
{
	return kernels ? &kernels[(ticket - 1) & box->ring_mask] : NULL;
}

/* The launching thread, before the slot's HOST bit is cleared: this ticket's events may come now. A task without
 * channels (p2p in ABI v4) gets no times: nobody could say when the last one has stopped. */
void kernel_expect(struct kernel *kernel, uint64_t ticket, const struct rw_operation *slot, bool watermark);
/* All that have started have stopped: where those are all of its channels, its times go into its slot, if that has not
 * moved on. Releases the lock. */
void kernel_finish(struct kernel *kernel, struct box_writer *box, uint64_t ticket);

static inline bool kernel_take_start(struct kernel *kernel, uint64_t ticket, uint16_t comm, uint64_t bit, uint64_t raw)
{
	if (kernel->ticket != ticket || kernel->comm != comm || (kernel->started & bit))
		return false;
	kernel->started |= bit;
	if (raw < kernel->start_raw)
		kernel->start_raw = raw;
	return true;
}

/* False: not expected (stale, of another communicator, a channel twice or out of range, no time). */
static inline bool kernel_start(struct kernel *kernel, uint64_t ticket, uint16_t comm, uint8_t channel, uint64_t raw)
{
	if (!ticket || channel >= KERNEL_CHANNELS || !raw || !try_lock_take(&kernel->lock))
		return false;
	bool expected = kernel_take_start(kernel, ticket, comm, 1ull << channel, raw);
	try_lock_leave(&kernel->lock);
	return expected;
}

/* Has the last one that is running stopped? */
static inline bool kernel_take_stop(struct kernel *kernel, uint64_t ticket, uint64_t bit, uint64_t raw)
{
	if (kernel->ticket != ticket || !(kernel->started & bit) || (kernel->stopped & bit))
		return false;
	kernel->stopped |= bit;
	if (raw > kernel->end_raw)
		kernel->end_raw = raw;
	return kernel->stopped == kernel->started;
}

/* The last of the announced channels writes gpu_start_raw and gpu_end_raw, unless more have started than stopped. A
 * p2p operation that runs on fewer channels than NCCL announced gets none. */
static inline void kernel_stop(struct kernel *kernel, struct box_writer *box, uint64_t ticket, uint8_t channel,
			       uint64_t raw)
{
	if (!ticket || channel >= KERNEL_CHANNELS || !raw || !try_lock_take(&kernel->lock))
		return;
	if (kernel_take_stop(kernel, ticket, 1ull << channel, raw))
		kernel_finish(kernel, box, ticket);
	else
		try_lock_leave(&kernel->lock);
}

#endif
