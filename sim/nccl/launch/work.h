/* SPDX-License-Identifier: MIT */
/*
 * What a group does when it ends: its jobs side by side, then the launches of its plans. For communicators that do not
 * block it goes on on a thread of its own, as in NCCL.
 */
#ifndef SIM_NCCL_LAUNCH_WORK_H
#define SIM_NCCL_LAUNCH_WORK_H

#include "sim/nccl/launch/async.h"
#include "sim/nccl/launch/plan.h"

/* A call on a communicator that takes part in a group. */
struct comm_job {
	struct async async; /* where there are several: its thread */
	struct comm_job *next;
	struct work *work;
	ncclResult_t (*run)(struct comm_job *job);
	struct ncclComm *comm;  /* the one it was called on, or the new one */
	bool ends;              /* comm: nobody may touch it afterwards */
	ncclUniqueId id;        /* of an init */
	struct ncclComm *child; /* of split and shrink; freed with the job unless given to *out */
	ncclComm_t *out;
	int color, key; /* of split */
	bool *excluded; /* of shrink: one per rank of comm; freed with the job */
	ncclResult_t result;
};

/* Frees what the job owns. */
void job_clear(struct comm_job *job);

/* Both take the lists over. Runs on this thread and returns the first error. */
ncclResult_t work_run(struct comm_job *jobs, struct plan *plans);
/* Starts a thread; ncclInProgress. The state of every communicator says how it goes on and, in the end, the result. */
ncclResult_t work_start(struct comm_job *jobs, struct plan *plans);
/* Frees both lists; the communicators that do not block get the error as their state. */
void work_drop(struct comm_job *jobs, struct plan *plans, ncclResult_t error);

/* Waits for the thread that last worked for the communicator, if nobody did yet. */
void work_join(struct ncclComm *comm);
/* As work_join, after telling all that the thread works for to stop. */
void work_abort(struct ncclComm *comm);

/* What ncclCommGetAsyncError reports; joins the thread of a call that has succeeded. */
ncclResult_t comm_error(struct ncclComm *comm);
/* Whether a call may use the communicator now; says why not. An aborted one waits for the thread that works for it. */
ncclResult_t comm_ready(struct ncclComm *comm);

#endif
