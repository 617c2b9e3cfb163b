/* SPDX-License-Identifier: MIT */
#include "plugin/kernel.h"

static bool take(struct kernel *kernel)
{
	/* Acquire: pairs with the release in leave(). */
	return !atomic_exchange_explicit(&kernel->taken, 1, memory_order_acquire);
}

static void leave(struct kernel *kernel)
{
	atomic_store_explicit(&kernel->taken, 0, memory_order_release);
}

void kernel_expect(struct kernel *kernel, uint64_t ticket, const struct rw_operation *slot, bool watermark)
{
	if (!take(kernel))
		return;
	kernel->comm = slot->comm;
	kernel->channels = slot->channels;
	kernel->watermark = watermark;
	kernel->ticket = slot->channels ? ticket : 0;
	kernel->started = kernel->stopped = 0;
	kernel->start_raw = UINT64_MAX;
	kernel->end_raw = 0;
	leave(kernel);
}

static bool start(struct kernel *kernel, uint64_t ticket, uint16_t comm, uint64_t bit, uint64_t raw)
{
	if (kernel->ticket != ticket || kernel->comm != comm || (kernel->started & bit))
		return false;
	kernel->started |= bit;
	if (raw < kernel->start_raw)
		kernel->start_raw = raw;
	return true;
}

bool kernel_start(struct kernel *kernel, uint64_t ticket, uint16_t comm, uint8_t channel, uint64_t raw)
{
	if (!ticket || channel >= KERNEL_CHANNELS || !raw || !take(kernel))
		return false;
	bool expected = start(kernel, ticket, comm, 1ull << channel, raw);
	leave(kernel);
	return expected;
}

static void write_times(const struct kernel *kernel, struct box_writer *box, uint64_t ticket)
{
	struct rw_operation *slot = &box->ring[(ticket - 1) & box->ring_mask];

	if (!box_hold(slot, ticket, RW_OWNER_TIMES))
		return;
	slot->gpu_start_raw = kernel->start_raw;
	slot->gpu_end_raw = kernel->end_raw;
	if (!kernel->watermark)
		slot->gpu_source = RW_GPU_SOURCE_KERNEL_CH;
	box_known(slot, RW_KNOWN_STAMP);
	box_release(slot, ticket, RW_OWNER_TIMES);
}

static void stop(struct kernel *kernel, struct box_writer *box, uint64_t ticket, uint64_t bit, uint64_t raw)
{
	if (kernel->ticket != ticket || !(kernel->started & bit) || (kernel->stopped & bit))
		return;
	kernel->stopped |= bit;
	if (raw > kernel->end_raw)
		kernel->end_raw = raw;
	if (kernel->stopped != kernel->started || __builtin_popcountll(kernel->stopped) < kernel->channels)
		return;
	kernel->ticket = 0;
	/* NCCL overwrites its own notes when its thread lags by 64 kernels: such times are of two kernels. */
	if (kernel->start_raw <= kernel->end_raw)
		write_times(kernel, box, ticket);
}

void kernel_stop(struct kernel *kernel, struct box_writer *box, uint64_t ticket, uint8_t channel, uint64_t raw)
{
	if (!ticket || channel >= KERNEL_CHANNELS || !raw || !take(kernel))
		return;
	stop(kernel, box, ticket, 1ull << channel, raw);
	leave(kernel);
}
