/* SPDX-License-Identifier: MIT */
/* What looks like a fault of one rank and is none. */
#include <stdint.h>

#include "base/numbers/splitmix.h"
#include "sim/workload/faults/fault.h"
#include "sim/workload/job/clock.h"

enum {
	RUN_AHEAD_STALL_MS = 300, RUN_AHEAD_STALL_EVERY = 3,
	CHECKPOINT_MS = 1000, CHECKPOINT_EVERY = 5,
	JITTER_MS = 15, JITTER_RARE_MS = 60, JITTER_RARE_EVERY = 16,
	TOGETHER_MS = 500,
	BY_TURNS_MS = 300,
};

static void stall_now_and_then(struct fault *fault, int step)
{
	if (fault->mine && step % RUN_AHEAD_STALL_EVERY == 0)
		clock_sleep_ms(RUN_AHEAD_STALL_MS);
}

static void checkpoint(struct fault *fault, int step)
{
	(void)fault;
	if (step % CHECKPOINT_EVERY == 0)
		clock_sleep_ms(CHECKPOINT_MS);
}

static void be_slow_together(struct fault *fault, int step)
{
	if (step >= fault->options->fault_step)
		clock_sleep_ms(TOGETHER_MS);
}

/* As where Python collects garbage on each rank in steps of its own. */
static void pause_by_turns(struct fault *fault, int step)
{
	if (step >= fault->options->fault_step && step % fault->options->ranks == fault->rank)
		clock_sleep_ms(fault_takes_ms(fault, BY_TURNS_MS));
}

/* The same for the same rank and step in every run. */
static uint64_t dice(int rank, int step)
{
	return splitmix_mix(((uint64_t)rank << 32 | (unsigned int)step) + SPLITMIX_STEP);
}

static int jitter_us(const struct fault *fault, int step)
{
	uint64_t thrown = dice(fault->rank, step);
	int ms = (int)(thrown % (2 * JITTER_MS + 1)) - JITTER_MS;

	return 1000 * ((thrown >> 32) % JITTER_RARE_EVERY ? ms : JITTER_RARE_MS);
}

const struct fault_kind fault_healthy_kinds[] = {
	{ .name = "run-ahead",
	  .between_steps = stall_now_and_then,
	  .doc = "healthy: its host stalls 300 ms while its GPU still has work (use --run-ahead)" },
	{ .name = "checkpoint", .between_steps = checkpoint, .doc = "healthy: all ranks pause a second every 5 steps" },
	{ .name = "jitter",
	  .extra_us = jitter_us,
	  .doc = "healthy: computation varies from step to step on all ranks" },
	{ .name = "together",
	  .between_steps = be_slow_together,
	  .doc = "nobody's fault: all ranks take half a second longer in each step" },
	{ .name = "by-turns",
	  .between_steps = pause_by_turns,
	  .doc = "nobody's fault: in each step another rank pauses for 300 ms" },
	{ 0 },
};
