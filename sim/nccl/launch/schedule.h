/* SPDX-License-Identifier: MIT */
/*
 * The order in which NCCL launches the calls of one communicator in one group; equal on all ranks. Taken from the
 * source of 2.28.9, and compared with what its host code does.
 */
#ifndef SIM_NCCL_LAUNCH_SCHEDULE_H
#define SIM_NCCL_LAUNCH_SCHEDULE_H

#include "sim/nccl/launch/plan.h"

/* Channels that sends and receives are spread over; a power of two. */
#define SCHEDULE_P2P_CHANNELS PLAN_CHANNELS_MAX

/* The code that a GPU would run for two tasks is the same, but for their sizes: NCCL's (function, operator, type). */
bool schedule_same_kind(const struct task *a, const struct task *b);
/*
 * Kind by kind, in the order of each kind's largest call; within a kind the smallest first, and those of about one size
 * in the order of the program. Sets the number of channels.
 */
void schedule_collectives(struct task **list);
/*
 * By the rounds of the schedule that all ranks share: in each a rank sends to one and receives from one, in the first
 * to and from itself. Sets rounds, works and channels. Takes out sends to the own rank that would be received where
 * they lie, which leaves their API events alone, as in NCCL. ncclInvalidUsage: one side of a copy to oneself is
 * missing.
 */
ncclResult_t schedule_p2p(struct ncclComm *comm, struct task **list);

/* One of them may be NULL. */
struct work {
	struct task *receive, *send;
};

/* The next of a list of scheduled sends and receives; moves *list behind it. */
struct work schedule_next_work(struct task **list);

#endif
