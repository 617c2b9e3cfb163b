/* SPDX-License-Identifier: MIT */
#include "plugin/operations/kernel.h"

#include "plugin/guest/memory.h"

struct kernel *kernels;

bool kernels_open(const struct box_writer *box)
{
	kernels = memory_populated(((size_t)box->ring_mask + 1) * sizeof(*kernels));
	return kernels;
}

void kernel_expect(struct kernel *kernel, uint64_t ticket, const struct rw_operation *slot, bool watermark)
{
	if (!try_lock_take(&kernel->lock))
		return;
	kernel->comm = slot->comm;
	kernel->channels = slot->channels;
	kernel->watermark = watermark;
	kernel->ticket = slot->channels ? ticket : 0;
	kernel->started = kernel->stopped = 0;
	kernel->start_raw = UINT64_MAX;
	kernel->end_raw = 0;
	try_lock_leave(&kernel->lock);
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

void kernel_finish(struct kernel *kernel, struct box_writer *box, uint64_t ticket)
{
	if (__builtin_popcountll(kernel->stopped) >= kernel->channels) {
		kernel->ticket = 0;
		/* NCCL overwrites its own notes when its thread lags by 64 kernels: such times are of two kernels. */
		if (kernel->start_raw <= kernel->end_raw)
			write_times(kernel, box, ticket);
	}
	try_lock_leave(&kernel->lock);
}
