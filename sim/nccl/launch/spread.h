/* SPDX-License-Identifier: MIT */
/*
 * On which channels the collectives of one launch run: each has its share of all that they move, and one collective
 * begins where the one before it ended. By NCCL's source (scheduleCollTasksToPlan of 2.28.9), but for sizes that it
 * rounds. The parts of an AllGatherV all begin on channel 0 (allgatherv_sched.cc of 2.30.7).
 */
#ifndef SIM_NCCL_LAUNCH_SPREAD_H
#define SIM_NCCL_LAUNCH_SPREAD_H

#include "sim/nccl/launch/plan.h"

struct spread {
	size_t share;    /* of each channel */
	size_t filled;   /* of the share of `channel`, by the collectives so far */
	uint8_t channel; /* that the next one begins on */
};

/* Of the first `count` of the list, whose `channels` say how many each may use. */
struct spread spread_over(const struct task *list, int count);
/* Sets the task's channels. Call in the order of the launch. */
void spread_place(struct spread *spread, struct task *task);

#endif
