/* SPDX-License-Identifier: MIT */
/* What those who work for a communicator note of it, or wake. Calls nobody. */
#ifndef SIM_NCCL_COMM_STATE_H
#define SIM_NCCL_COMM_STATE_H

#include <nccl.h>

struct ncclComm;

void comm_plan_started(struct ncclComm *comm);
void comm_plan_done(struct ncclComm *comm);
/* For whoever notices an error between calls, on any thread: the transport. */
void comm_set_async_error(struct ncclComm *comm, ncclResult_t error);
/* A plan has started or stopped, or a link has moved: the progress thread looks. */
void comm_wake_proxy(struct ncclComm *comm);

#endif
