/* SPDX-License-Identifier: MIT */
/* What a thread has called since its outermost ncclGroupStart; every call outside is a group of its own. */
#ifndef SIM_NCCL_GROUP_H
#define SIM_NCCL_GROUP_H

#include "plan.h"

void group_enter(void);
/* The outermost one runs the group and returns its first error. Only after group_enter. */
ncclResult_t group_leave(void);
bool group_is_open(void);

/* Adds a copy of the task, around which the profiler's API events are sent. */
ncclResult_t group_add_task(const struct task *task);
/* Copies the job; it runs at once when no group is open, else at its end. */
ncclResult_t group_add_job(const struct comm_job *job);
/* The group will do nothing but return this error. */
void group_fail(ncclResult_t result);

#endif
