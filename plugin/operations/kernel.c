/* SPDX-License-Identifier: MIT */
#include "plugin/operations/kernel.h"

#include "plugin/guest/memory.h"
#include "plugin/operations/replay.h"

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
	bool expected = slot->channels && replay_is_counted(communicator);
	kernel_await(kernel, expected ? ticket : KERNEL_NO_TICKET, slot->channels, communicator);
	kernel->watermark = watermark;
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

void kernel_finish(struct kernel *kernel, struct box_writer *box, uint64_t ticket)
{
	if (kernel_is_whole(kernel)) {
		kernel->ticket = KERNEL_NO_TICKET;
		if (kernel_has_times(kernel) && replay_is_counted(kernel->communicator))
			write_times(kernel, box, ticket);
	}
	try_lock_leave(&kernel->lock);
}
