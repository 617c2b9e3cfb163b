/* SPDX-License-Identifier: MIT */
/* The calls that end communicators or what runs on them. */
#include "sim/nccl/calls/export.h"
#include "sim/nccl/calls/group.h"
#include "sim/nccl/comm/comm_life.h"
#include "sim/nccl/log.h"
#include "sim/nccl/release.h"

static ncclResult_t run_finalize(struct comm_job *job)
{
	comm_quiesce(job->comm);
	return ncclSuccess;
}

static ncclResult_t finalize(struct ncclComm *comm)
{
	struct comm_job job = { .run = run_finalize, .comm = comm };
	ncclResult_t result = comm_ready(comm);

	if (result != ncclSuccess)
		return result;
	if (comm->finalized) {
		log_warn("ncclCommFinalize was called twice for the same communicator");
		return ncclInvalidArgument;
	}
	comm->finalized = true;
	return group_add_job(&job);
}

ncclResult_t pncclCommFinalize(ncclComm_t comm)
{
	if (!comm)
		return ncclSuccess;
	group_enter();
	return group_leave_with(finalize(comm), comm);
}
EXPORT_WEAK(CommFinalize);

static ncclResult_t run_reclaim(struct comm_job *job)
{
	comm_reclaim(job->comm);
	return ncclSuccess;
}

/* In an open group, which frees the communicator when it ends; it blocks whatever the config says, as in NCCL. */
static ncclResult_t end(struct ncclComm *comm)
{
	struct comm_job job = { .run = run_reclaim, .comm = comm, .ends = true };

	comm->ending = true;
	return group_add_job(&job);
}

ncclResult_t pncclCommDestroy(ncclComm_t comm)
{
	ncclResult_t result = comm ? comm_ready(comm) : ncclSuccess;

	if (!comm || result != ncclSuccess)
		return result;
	group_enter();
	return group_leave_with(end(comm), NULL);
}
EXPORT_WEAK(CommDestroy);

ncclResult_t pncclCommAbort(ncclComm_t comm)
{
	if (!comm)
		return ncclSuccess;
	atomic_store(&comm->stop, true);
	comm_ready(comm); /* the thread that works for it has ended; with which error does not matter now */
	comm_wake(comm);
	group_enter();
	return group_leave_with(end(comm), NULL);
}
EXPORT_WEAK(CommAbort);

/* Afterwards the communicator can be split, shrunk and ended. */
static ncclResult_t run_revoke(struct comm_job *job)
{
	comm_quiesce(job->comm);
	atomic_store(&job->comm->stop, false);
	return ncclSuccess;
}

ncclResult_t pncclCommRevoke(ncclComm_t comm, int flags)
{
	struct comm_job job = { .run = run_revoke, .comm = comm };
	ncclResult_t result = release_offers(CALLS_2_28, "ncclCommRevoke");

	if (!comm || result != ncclSuccess)
		return result;
	if (flags != NCCL_REVOKE_DEFAULT || comm->ending || comm->finalized || comm->revoked) {
		log_warn("ncclCommRevoke : flags are not 0, or the communicator is being ended or was revoked");
		return ncclInvalidArgument;
	}
	atomic_store(&comm->stop, true);
	comm->revoked = comm->finalized = true;
	comm_ready(comm);
	group_enter();
	return group_leave_with(group_add_job(&job), comm);
}
EXPORT_WEAK(CommRevoke);
