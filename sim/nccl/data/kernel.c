/* SPDX-License-Identifier: MIT */
#include "sim/nccl/data/kernel.h"

#include <time.h>

#include "sim/nccl/data/mover.h"
#include "sim/nccl/launch/capture_plan.h"
#include "sim/nccl/launch/work_count.h"

/* As the GPU's %globaltimer: nanoseconds since the epoch, one clock for all devices of the host. */
static uint64_t global_timer(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool move(struct plan *plan)
{
	for (const struct task *task = plan->collectives; task; task = task->next) {
		if (!mover_collective(task))
			return false;
	}
	return !plan->p2p || mover_p2p(plan->p2p);
}

static void kernel_run(void **params, const struct cpu_launch *launch)
{
	struct plan *given = *(struct plan **)params[0], *plan = capture_plan_to_run(given);
	struct ncclComm *comm = given->comm;

	(void)launch;
	if (!plan) {
		comm_set_async_error(comm, ncclSystemError);
		return;
	}
	uint64_t start_ns = global_timer();
	work_count_begin(plan, start_ns);
	atomic_store(&plan->start_ns, start_ns);
	if (plan->channel_events)
		comm_wake_proxy(comm);
	if (move(plan)) { /* an aborted plan never stops, for whoever watches it */
		uint64_t stop_ns = global_timer();
		work_count_end(plan, stop_ns);
		atomic_store(&plan->stop_ns, stop_ns);
	}
	if (plan->channel_events)
		comm_wake_proxy(comm);
	plan_drop(plan);
	comm_plan_done(comm);
}

/* A channel is a block; those of all ranks wait for each other. */
static const struct cpu_module_kernel kernels[] = {
	{ KERNEL_NAME, kernel_run, 1, { sizeof(struct plan *) }, .together = true },
};

const struct cpu_module_image kernel_image = { { 'r', 'w', 'c', 'p', 'u', 'm', 'o', 'd' }, 1, kernels };
