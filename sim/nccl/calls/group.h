/* SPDX-License-Identifier: MIT */
/* What a thread has called since its outermost ncclGroupStart; every call outside is a group of its own. */
#ifndef SIM_NCCL_CALLS_GROUP_H
#define SIM_NCCL_CALLS_GROUP_H

#include "sim/nccl/launch/work.h"

void group_enter(void);
/*
 * At the end of a call, after group_enter: an error spoils the group. The outermost one runs the group, or starts it
 * when its communicators do not block. comm, or NULL: when it does not block, its state is the answer.
 */
ncclResult_t group_leave_with(ncclResult_t result, struct ncclComm *comm);

/* Adds a copy of the task, around which the profiler's API events are sent. */
ncclResult_t group_add_task(const struct task *task);
/* Copies the job and takes over what it owns, also when it fails. Only in an open group. */
ncclResult_t group_add_job(const struct comm_job *job);

#endif
