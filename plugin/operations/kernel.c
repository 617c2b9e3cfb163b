/* SPDX-License-Identifier: MIT */
#include "plugin/operations/kernel.h"

#include "plugin/guest/memory.h"

static struct kernel unexpecting = { .ticket = KERNEL_NO_TICKET };
struct kernels kernels = { .by_slot = &unexpecting };

bool kernels_open(const struct box_writer *box)
{
	struct kernel *by_slot = memory_populated(((size_t)box->ring_mask + 1) * sizeof(*by_slot));

	if (!by_slot)
		return false;
	for (uint64_t i = 0; i <= box->ring_mask; i++)
		by_slot[i].ticket = KERNEL_NO_TICKET;
	kernels = (struct kernels){ by_slot, box->ring_mask, true };
	return true;
}

void kernel_expect(struct kernel *kernel, uint64_t ticket, const struct rw_operation *slot,
		   const struct communicator *communicator, bool watermark)
{
	if (!try_lock_take(&kernel->lock))
		return;
	kernel->communicator = communicator;
	kernel->channels = slot->channels;
	kernel->watermark = watermark;
	kernel->ticket = slot->channels ? ticket : KERNEL_NO_TICKET;
	kernel->started = kernel->stopped = 0;
	kernel->start_raw = UINT64_MAX;
	kernel->end_before_raw = 0;
	try_lock_leave(&kernel->lock);
}

void kernel_begin(struct box_writer *box, uint64_t ticket)
{
	struct rw_operation *slot = &box->ring[(ticket - 1) & box->ring_mask];

	if (!box_hold(slot, ticket, RW_OWNER_TIMES))
		return;
	box_known(slot, RW_KNOWN_BEGAN);
	box_release(slot, ticket, RW_OWNER_TIMES);
}

static void write_times(const struct kernel *kernel, struct box_writer *box, uint64_t ticket)
{
	struct rw_operation *slot = &box->ring[(ticket - 1) & box->ring_mask];

	if (!box_hold(slot, ticket, RW_OWNER_TIMES))
		return;
	slot->gpu_start_raw = kernel->start_raw;
	slot->gpu_end_raw = kernel->end_before_raw + 1;
	if (!kernel->watermark)
		slot->gpu_source = RW_GPU_SOURCE_KERNEL_CH;
	box_known(slot, RW_KNOWN_STAMP);
	box_release(slot, ticket, RW_OWNER_TIMES);
}

/* NCCL overwrites its own notes when its thread lags by 64 kernels: such times are of two kernels. */
static bool has_times(const struct kernel *kernel)
{
	return kernel->start_raw && kernel->end_before_raw != UINT64_MAX &&
	       kernel->start_raw <= kernel->end_before_raw + 1;
}

void kernel_finish(struct kernel *kernel, struct box_writer *box, uint64_t ticket)
{
	if (__builtin_popcountll(kernel->stopped) >= kernel->channels) {
		kernel->ticket = KERNEL_NO_TICKET;
		if (has_times(kernel))
			write_times(kernel, box, ticket);
	}
	try_lock_leave(&kernel->lock);
}
