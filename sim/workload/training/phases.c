/* SPDX-License-Identifier: MIT */
#include "sim/workload/training/phases.h"

#include "sim/workload/host/checkpointer.h"
#include "sim/workload/job/clock.h"

/* Garbage is collected asleep: with fewer CPUs than ranks they would otherwise end at different times. */
enum { GC_MS = 120, CHECKPOINT_MS = 400 };

int phases_open(struct phases *phases, const struct parallel *parallel)
{
	*phases = (struct phases){ .parallel = parallel };
	return parallel->checkpoint_every ? checkpointer_start(&phases->checkpointer, CHECKPOINT_MS) : 0;
}

void phases_close(struct phases *phases)
{
	checkpointer_stop(phases->checkpointer);
}

static bool is_due(int every, int step)
{
	return every && step % every == 0;
}

void phases_run(struct phases *phases, int step)
{
	if (is_due(phases->parallel->gc_every, step))
		clock_sleep_ms(GC_MS);
	if (is_due(phases->parallel->checkpoint_every, step))
		checkpointer_snapshot(phases->checkpointer);
}
