/* SPDX-License-Identifier: MIT */
/* The calls that ask communicators. */
#include "sim/nccl/calls/export.h"
#include "sim/nccl/launch/work.h"
#include "sim/nccl/log.h"

static ncclResult_t check(const char *call, const struct ncclComm *comm, const void *out)
{
	if (comm && out)
		return ncclSuccess;
	log_warn("%s : %s argument is NULL", call, comm ? "result" : "comm");
	return ncclInvalidArgument;
}

/* The size, rank and device of one whose init is not done are not known yet. */
static ncclResult_t ask(const char *call, ncclComm_t comm, int *out, const int *value)
{
	ncclResult_t result = check(call, comm, out);

	if (result == ncclSuccess)
		result = comm_ready(comm);
	if (result == ncclSuccess)
		*out = *value;
	return result;
}

ncclResult_t pncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
	ncclResult_t result = check("ncclGetAsyncError", comm, error);

	if (result == ncclSuccess)
		*error = comm_error(comm);
	return result;
}
EXPORT_WEAK(CommGetAsyncError);

ncclResult_t pncclCommCount(const ncclComm_t comm, int *count)
{
	return ask("CommCount", comm, count, comm ? &comm->nranks : NULL);
}
EXPORT_WEAK(CommCount);

ncclResult_t pncclCommUserRank(const ncclComm_t comm, int *rank)
{
	return ask("CommUserRank", comm, rank, comm ? &comm->rank : NULL);
}
EXPORT_WEAK(CommUserRank);

ncclResult_t pncclCommCuDevice(const ncclComm_t comm, int *device)
{
	return ask("CommCuDevice", comm, device, comm ? &comm->device : NULL);
}
EXPORT_WEAK(CommCuDevice);
