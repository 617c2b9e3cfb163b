/* SPDX-License-Identifier: MIT */
/* The calls that make communicators of unique ids. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/nccl/bootstrap/meeting.h"
#include "sim/nccl/calls/export.h"
#include "sim/nccl/calls/group.h"
#include "sim/nccl/comm/comm_life.h"
#include "sim/nccl/log.h"
#include "sim/nccl/release.h"

/* Once per job, not per rank: rank 0 of a process's first communicator. */
static void say_what_this_is(int rank)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	const char *quiet = getenv("SIM_QUIET");

	if (atomic_flag_test_and_set(&said) || rank != 0 || (quiet && strcmp(quiet, "1") == 0))
		return;
	fprintf(stderr, "stand-in NCCL %s on CPUs (rankwatch sim)\n", release()->name);
}

/* The caller's current device, as CUDA's runtime has it: device 0 when the thread has none. */
static ncclResult_t current_device(CUdevice *device)
{
	ncclResult_t result = release_check();

	if (result == ncclSuccess)
		result = driver_open();
	if (result == ncclSuccess && driver.cuCtxGetDevice(device) != CUDA_SUCCESS)
		*device = 0;
	return result;
}

static ncclResult_t run_init(struct comm_job *job)
{
	struct ncclComm *comm = job->comm;

	ncclResult_t result = comm_init(comm, &job->id, meeting_hash(job->id.internal, sizeof(job->id.internal), 0),
					comm->rank, comm->nranks);
	if (result != ncclSuccess)
		atomic_store(&comm->state, result); /* nothing but ncclCommAbort may use it */
	return result;
}

/* In an open group. As in NCCL *out is set at once, and stays set when the init fails: ncclCommAbort frees it. */
static ncclResult_t init_rank(ncclComm_t *out, int nranks, const ncclUniqueId *id, int rank, CUdevice device,
			      const ncclConfig_t *config)
{
	struct comm_job job = { .run = run_init, .id = *id };

	if (!out || nranks < 1 || rank < 0 || rank >= nranks) {
		log_warn("Invalid rank requested : %d/%d", rank, nranks);
		return ncclInvalidArgument;
	}
	*out = NULL;
	ncclResult_t result = comm_new(&job.comm, config, device);
	if (result != ncclSuccess)
		return result;
	say_what_this_is(rank);
	job.comm->rank = rank;
	job.comm->nranks = nranks;
	result = group_add_job(&job);
	if (result == ncclSuccess)
		*out = job.comm;
	else
		comm_reclaim(job.comm);
	return result;
}

static ncclResult_t init_on_current_device(ncclComm_t *out, int nranks, const ncclUniqueId *id, int rank,
					   const ncclConfig_t *config)
{
	CUdevice device;
	ncclResult_t result = current_device(&device);

	if (out)
		*out = NULL;
	group_enter();
	if (result == ncclSuccess)
		result = init_rank(out, nranks, id, rank, device, config);
	return group_leave_with(result, out ? *out : NULL);
}

ncclResult_t pncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
	return init_on_current_device(comm, nranks, &id, rank, config);
}
EXPORT_WEAK(CommInitRankConfig);

ncclResult_t pncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
	return init_on_current_device(comm, nranks, &id, rank, NULL);
}
EXPORT_WEAK(CommInitRank);

/* All meet under the first id, which is also what NCCL makes the communicator's number of. */
ncclResult_t pncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int id_count, ncclUniqueId *ids,
				       ncclConfig_t *config)
{
	ncclResult_t result = release_offers(CALLS_2_23, "ncclCommInitRankScalable");

	if (result != ncclSuccess)
		return result;
	if (!ids || id_count < 1 || id_count > nranks) {
		log_warn("improper usage of ncclCommInitRank: nId = %d, nranks=%d", id_count, nranks);
		return ncclInvalidArgument;
	}
	for (int i = 1; i < id_count && rank == 0; i++)
		meeting_dismiss(&ids[i]);
	return init_on_current_device(comm, nranks, &ids[0], rank, config);
}
EXPORT_WEAK(CommInitRankScalable);

static ncclResult_t init_all(ncclComm_t *comms, int count, const int *devices)
{
	ncclUniqueId id;
	ncclResult_t result = meeting_open(&id);

	for (int i = 0; i < count && result == ncclSuccess; i++)
		result = init_rank(&comms[i], count, &id, i, devices ? devices[i] : i, NULL);
	return result;
}

ncclResult_t pncclCommInitAll(ncclComm_t *comms, int count, const int *devices)
{
	CUdevice device;
	ncclResult_t result = comms && count >= 1 ? current_device(&device) : ncclInvalidArgument;

	if (result != ncclSuccess)
		return result;
	group_enter();
	return group_leave_with(init_all(comms, count, devices), NULL);
}
EXPORT_WEAK(CommInitAll);
