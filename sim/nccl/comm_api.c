/* SPDX-License-Identifier: MIT */
/* The calls that make, split, ask and end communicators. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "group.h"
#include "log.h"
#include "meeting.h"
#include "release.h"

/* Once per job, not per rank: rank 0 of a process's first communicator. */
static void say_what_this_is(int rank)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	const char *quiet = getenv("SIM_QUIET");

	if (atomic_flag_test_and_set(&said) || rank != 0 || (quiet && strcmp(quiet, "1") == 0))
		return;
	fprintf(stderr, "stand-in NCCL %s on CPUs (rankwatch sim)\n", release()->name);
}

static ncclResult_t config_check(const ncclConfig_t *config)
{
	if (config->magic != NCCL_CONFIG_MAGIC || config->size < offsetof(ncclConfig_t, collnetEnable)) {
		log_warn("ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
		return ncclInvalidArgument;
	}
	if (config->blocking == 0) {
		log_warn("the stand-in has blocking communicators only (config.blocking = 0)");
		return ncclInvalidUsage;
	}
	return ncclSuccess;
}

static void config_name(const ncclConfig_t *config, struct comm_job *job)
{
	if (config && config->commName)
		snprintf(job->name, sizeof(job->name), "%s", config->commName);
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
	return comm_init(job, meeting_hash(job->id.internal, sizeof(job->id.internal), 0));
}

static ncclResult_t init_rank(struct comm_job *job, const ncclConfig_t *config)
{
	if (!job->out || job->nranks < 1 || job->rank < 0 || job->rank >= job->nranks) {
		log_warn("Invalid rank requested : %d/%d", job->rank, job->nranks);
		return ncclInvalidArgument;
	}
	ncclResult_t result = config ? config_check(config) : ncclSuccess;
	if (result != ncclSuccess)
		return result;
	config_name(config, job);
	say_what_this_is(job->rank);
	return group_add_job(job);
}

ncclResult_t pncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
	struct comm_job job = { .run = run_init, .out = comm, .id = id, .nranks = nranks, .rank = rank };
	ncclResult_t result = current_device(&job.device);

	return result == ncclSuccess ? init_rank(&job, config) : result;
}
EXPORT_WEAK(CommInitRankConfig);

ncclResult_t pncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
	return pncclCommInitRankConfig(comm, nranks, id, rank, NULL);
}
EXPORT_WEAK(CommInitRank);

ncclResult_t pncclCommInitAll(ncclComm_t *comms, int count, const int *devices)
{
	struct comm_job job = { .run = run_init, .nranks = count };
	ncclResult_t result = release_check();

	if (!comms || count < 1)
		return ncclInvalidArgument;
	if (result == ncclSuccess)
		result = driver_open();
	if (result == ncclSuccess)
		result = meeting_open(&job.id);
	if (result != ncclSuccess)
		return result;
	group_enter();
	for (int i = 0; i < count && result == ncclSuccess; i++) {
		job.out = &comms[i];
		job.rank = i;
		job.device = devices ? devices[i] : i;
		result = init_rank(&job, NULL);
	}
	if (result != ncclSuccess)
		group_fail(result);
	return group_leave();
}
EXPORT_WEAK(CommInitAll);

/* The order of the new ranks: by key, then by the old rank. Returns the number of members with this color. */
static int split_members(const struct segment_rank *ranks, int nranks, const struct comm_job *job, int *leader,
			 int *rank)
{
	int members = 0;

	*rank = 0;
	*leader = -1;
	for (int i = 0; i < nranks; i++) {
		if (ranks[i].color != job->color)
			continue;
		members++;
		*rank += ranks[i].key < job->key || (ranks[i].key == job->key && i < job->parent->rank);
		if (*leader < 0 || ranks[i].key < ranks[*leader].key)
			*leader = i;
	}
	return members;
}

/* All ranks of the parent take part; the first of each color opens the meeting for its members. */
static ncclResult_t run_split(struct comm_job *job)
{
	struct ncclComm *parent = job->parent;
	struct segment_shared *shared = parent->segment.shared;
	struct segment_rank *mine = &shared->ranks[parent->rank];
	ncclResult_t result = ncclSuccess;
	int leader;

	mine->color = job->color;
	mine->key = job->key;
	result = comm_meet(parent);
	if (result != ncclSuccess)
		return result;
	job->nranks = split_members(shared->ranks, parent->nranks, job, &leader, &job->rank);
	mine->split_id = (ncclUniqueId){ 0 };
	if (leader == parent->rank && job->color != NCCL_SPLIT_NOCOLOR)
		result = meeting_open(&mine->split_id);
	ncclResult_t met = comm_meet(parent);
	if (met != ncclSuccess)
		return met;
	*job->out = NULL;
	uint64_t identity[] = { parent->splits++, (uint64_t)job->color };
	if (result != ncclSuccess || job->color == NCCL_SPLIT_NOCOLOR)
		return result;
	job->id = shared->ranks[leader].split_id;
	return comm_init(job, meeting_hash(identity, sizeof(identity), parent->hash));
}

ncclResult_t pncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t *out, ncclConfig_t *config)
{
	struct comm_job job = { .run = run_split, .out = out, .parent = parent, .color = color, .key = key };

	if (!parent || !out || color < NCCL_SPLIT_NOCOLOR)
		return ncclInvalidArgument;
	ncclResult_t result = config ? config_check(config) : ncclSuccess;
	if (result != ncclSuccess)
		return result;
	job.device = parent->device;
	snprintf(job.name, sizeof(job.name), "%s", parent->name);
	config_name(config, &job);
	return group_add_job(&job);
}
EXPORT_WEAK(CommSplit);

ncclResult_t pncclCommFinalize(ncclComm_t comm)
{
	if (!comm)
		return ncclInvalidArgument;
	comm_drain(comm);
	return ncclSuccess;
}
EXPORT_WEAK(CommFinalize);

ncclResult_t pncclCommDestroy(ncclComm_t comm)
{
	if (!comm)
		return ncclSuccess;
	comm_drain(comm);
	comm_free(comm);
	return ncclSuccess;
}
EXPORT_WEAK(CommDestroy);

ncclResult_t pncclCommAbort(ncclComm_t comm)
{
	if (!comm)
		return ncclSuccess;
	atomic_store(&comm->stop, true);
	comm_drain(comm);
	comm_free(comm);
	return ncclSuccess;
}
EXPORT_WEAK(CommAbort);

ncclResult_t pncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
	if (!comm || !error)
		return ncclInvalidArgument;
	*error = ncclSuccess; /* a dead rank is never noticed: the others wait, as they do on GPUs without a watchdog */
	return ncclSuccess;
}
EXPORT_WEAK(CommGetAsyncError);

ncclResult_t pncclCommCount(const ncclComm_t comm, int *count)
{
	if (!comm || !count)
		return ncclInvalidArgument;
	*count = comm->nranks;
	return ncclSuccess;
}
EXPORT_WEAK(CommCount);

ncclResult_t pncclCommUserRank(const ncclComm_t comm, int *rank)
{
	if (!comm || !rank)
		return ncclInvalidArgument;
	*rank = comm->rank;
	return ncclSuccess;
}
EXPORT_WEAK(CommUserRank);

ncclResult_t pncclCommCuDevice(const ncclComm_t comm, int *device)
{
	if (!comm || !device)
		return ncclInvalidArgument;
	*device = comm->device;
	return ncclSuccess;
}
EXPORT_WEAK(CommCuDevice);
