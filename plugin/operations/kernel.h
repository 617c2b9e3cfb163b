/* SPDX-License-Identifier: MIT */
/*
 * The GPU's own times of an operation's kernel, from NCCL's KernelCh events: one start and one stop per channel, given
 * by NCCL's proxy thread (its profiler thread from 2.31 on) after the fact. That the first channel has started is noted
 * in the slot at once. The times are kept beside the box until the last channel has stopped, then written into the slot
 * once. Only with RANKWATCH_KERNELCH=1.
 *
 * No pending bit waits for these events: where NCCL sends none (copy engines, symmetric kernels before 2.31, abort) the
 * operation would count as in flight for ever. So an event can come when its slot has moved on, and NCCL does hand in
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
#include "plugin/recording/communicator.h"

enum { KERNEL_CHANNELS = 64 /* NCCL's MAXCHANNELS */ };
#define KERNEL_NO_TICKET UINT64_MAX /* none that a handle can hold */

/* By slot, a cache line each. All but `lock` belongs to whoever has the lock. */
struct kernel {
	_Alignas(64) try_lock lock;
	uint8_t channels;          /* as announced by the task */
	bool watermark;            /* the plugin's thread writes gpu_source */
	uint64_t ticket;           /* KERNEL_NO_TICKET = nothing (more) to expect */
	const struct communicator *communicator;
	uint64_t started, stopped; /* bit per channel */
	uint64_t start_raw;        /* of the first channel; 0: one came without a time */
	uint64_t end_before_raw;   /* of the last one, less 1; UINT64_MAX: one came without a time */
};

/* With RANKWATCH_KERNELCH=1 as many as the box has slots, else a single one that never expects anything. Hidden, as in
 * recording.h. */
struct kernels {
	struct kernel *by_slot;
	uint64_t mask;
	bool recorded;
};
extern __attribute__((visibility("hidden"))) struct kernels kernels;

/* Once per process: from now on times of kernels are recorded. False: no memory. */
bool kernels_open(const struct box_writer *box);

/* Under its lock: from now on these are the ticket's events. */
static inline void kernel_await(struct kernel *kernel, uint64_t ticket, uint8_t channels,
				const struct communicator *communicator)
{
	kernel->communicator = communicator;
	kernel->channels = channels;
	kernel->ticket = ticket;
	kernel->started = kernel->stopped = 0;
	kernel->start_raw = UINT64_MAX;
	kernel->end_before_raw = 0;
}

/* Under its lock: have all announced channels stopped? */
static inline bool kernel_is_whole(const struct kernel *kernel)
{
	return __builtin_popcountll(kernel->stopped) >= kernel->channels;
}

/* Of one that is whole: has it times? NCCL overwrites its own notes when its thread lags by 64 kernels: such times are
 * of two kernels. */
static inline bool kernel_has_times(const struct kernel *kernel)
{
	return kernel->start_raw && kernel->end_before_raw != UINT64_MAX &&
	       kernel->start_raw <= kernel->end_before_raw + 1;
}

static inline bool kernels_are_recorded(void)
{
	return kernels.recorded;
}

/* Of the slot that the ticket has, or had. */
static inline struct kernel *kernel_find(uint64_t ticket)
{
	return &kernels.by_slot[(ticket - 1) & kernels.mask];
}

/* The launching thread, before the slot's HOST bit is cleared: this ticket's events may come now. A task without
 * channels (p2p in ABI v4) gets no times: nobody would know when the last one has stopped. Nor does one whose times may
 * be of another kernel (replay_is_counted()). */
void kernel_expect(struct kernel *kernel, uint64_t ticket, const struct rw_operation *slot,
		   const struct communicator *communicator, bool watermark);
/* The first channel has started: its slot says so, if that has not moved on. */
void kernel_begin(struct box_writer *box, uint64_t ticket);
/* All that have started have stopped: where those are all of its channels, its times go into its slot, if that has not
 * moved on. Releases the lock. */
void kernel_finish(struct kernel *kernel, struct box_writer *box, uint64_t ticket);

static inline bool kernel_start_channel(struct kernel *kernel, uint64_t ticket, const void *context, uint64_t bit,
					uint64_t raw)
{
	if (kernel->ticket != ticket || (kernel->started & bit))
		return false;
	/* Relaxed: one that has ended has no context any more, and nothing of it is read here. */
	if (atomic_load_explicit(&kernel->communicator->context, memory_order_relaxed) != (uintptr_t)context)
		return false;
	kernel->started |= bit;
	if (raw < kernel->start_raw)
		kernel->start_raw = raw;
	return true;
}

enum kernel_started {
	KERNEL_UNEXPECTED, /* stale, of another communicator, a channel twice or out of range */
	KERNEL_FIRST,      /* of its channels: kernel_begin() is due */
	KERNEL_FURTHER,
};

/* raw 0: no time. */
static inline enum kernel_started kernel_start(struct kernel *kernel, uint64_t ticket, const void *context,
					       uint8_t channel, uint64_t raw)
{
	if (channel >= KERNEL_CHANNELS || !try_lock_take(&kernel->lock))
		return KERNEL_UNEXPECTED;
	bool expected = kernel_start_channel(kernel, ticket, context, 1ull << channel, raw);
	bool first = kernel->started == 1ull << channel;
	try_lock_leave(&kernel->lock);
	if (!expected)
		return KERNEL_UNEXPECTED;
	return first ? KERNEL_FIRST : KERNEL_FURTHER;
}

/* Has the last one that is running stopped? */
static inline bool kernel_stop_channel(struct kernel *kernel, uint64_t ticket, uint64_t bit, uint64_t raw)
{
	if (kernel->ticket != ticket || !(kernel->started & ~kernel->stopped & bit))
		return false;
	kernel->stopped |= bit;
	if (raw - 1 > kernel->end_before_raw) /* 0, which is no time, is later than all others */
		kernel->end_before_raw = raw - 1;
	return kernel->stopped == kernel->started;
}

/* The last of the announced channels writes gpu_start_raw and gpu_end_raw, unless more have started than stopped. A
 * p2p operation that runs on fewer channels than NCCL announced gets none, nor one of which a channel has no time.
 * channel: one that was started. */
static inline void kernel_stop(struct kernel *kernel, struct box_writer *box, uint64_t ticket, uint8_t channel,
			       uint64_t raw)
{
	if (!try_lock_take(&kernel->lock))
		return;
	if (kernel_stop_channel(kernel, ticket, 1ull << channel % KERNEL_CHANNELS, raw))
		kernel_finish(kernel, box, ticket);
	else
		try_lock_leave(&kernel->lock);
}

#endif
