/* SPDX-License-Identifier: MIT */
/*
 * ncclCommSuspend and ncclCommResume: all ranks of the communicator meet in either. No memory is given up here, and a
 * communicator that is suspended can be used all the same.
 */
#include "sim/nccl/calls/export.h"
#include "sim/nccl/calls/group.h"
#include "sim/nccl/comm/comm_life.h"
#include "sim/nccl/release.h"

static ncclResult_t run_meeting(struct comm_job *job)
{
	return comm_meet(job->comm);
}

/* In an open group. */
static ncclResult_t meet(struct ncclComm *comm)
{
	ncclResult_t result = comm_ready(comm);
	struct comm_job job = { .run = run_meeting, .comm = comm };

	return result == ncclSuccess ? group_add_job(&job) : result;
}

static ncclResult_t call(const char *name, struct ncclComm *comm)
{
	ncclResult_t result = release_offers(CALLS_2_29, name);

	if (result != ncclSuccess)
		return result;
	if (!comm)
		return ncclInvalidArgument;
	group_enter();
	return group_leave_with(meet(comm), comm);
}

/* Without that flag NCCL does nothing. */
ncclResult_t pncclCommSuspend(ncclComm_t comm, int flags)
{
	return flags & NCCL_SUSPEND_MEM ? call("ncclCommSuspend", comm) : release_offers(CALLS_2_29, "ncclCommSuspend");
}
EXPORT_WEAK(CommSuspend);

ncclResult_t pncclCommResume(ncclComm_t comm)
{
	return call("ncclCommResume", comm);
}
EXPORT_WEAK(CommResume);
