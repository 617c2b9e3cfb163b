/* SPDX-License-Identifier: MIT */
/* Communicators made of others: split, shrink and grow. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/nccl/bootstrap/meeting.h"
#include "sim/nccl/calls/export.h"
#include "sim/nccl/calls/group.h"
#include "sim/nccl/comm/comm_life.h"
#include "sim/nccl/log.h"
#include "sim/nccl/release.h"

/* NCCL's child number: of the parent's, the count of its splits and the color; all shrinks count as split 0. */
static ncclResult_t init_child(struct comm_job *job, uint64_t split, int rank, int nranks, const ncclUniqueId *id)
{
	uint64_t identity[] = { split, (uint64_t)job->color };
	struct ncclComm *child = job->child;
	ncclResult_t result =
	    comm_init(child, id, meeting_hash(identity, sizeof(identity), job->comm->hash), rank, nranks);

	if (result == ncclSuccess) {
		*job->out = child;
		job->child = NULL;
	}
	return result;
}

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
		*rank += ranks[i].key < job->key || (ranks[i].key == job->key && i < job->comm->rank);
		if (*leader < 0 || ranks[i].key < ranks[*leader].key)
			*leader = i;
	}
	return members;
}

/* All ranks of the parent take part; the first of each color opens the meeting for its members. */
static ncclResult_t run_split(struct comm_job *job)
{
	struct ncclComm *parent = job->comm;
	struct segment_shared *shared = parent->segment.shared;
	struct segment_rank *mine = &shared->ranks[parent->rank];
	int leader, rank;

	mine->color = job->color;
	mine->key = job->key;
	ncclResult_t result = comm_meet(parent);
	if (result != ncclSuccess)
		return result;
	int nranks = split_members(shared->ranks, parent->nranks, job, &leader, &rank);
	mine->split_id = (ncclUniqueId){ 0 };
	if (leader == parent->rank && job->child)
		result = meeting_open(&mine->split_id);
	ncclResult_t met = comm_meet(parent);
	if (met != ncclSuccess)
		return met;
	uint64_t split = ++parent->splits;
	if (result != ncclSuccess || !job->child)
		return result;
	return init_child(job, split, rank, nranks, &shared->ranks[leader].split_id);
}

/* The others cannot all meet for this: those left out may be dead. */
static ncclResult_t send_id(struct ncclComm *parent, int member, const ncclUniqueId *id)
{
	struct hosts *hosts = &parent->hosts;
	int fd;
	ncclResult_t result = meeting_call(&fd, &hosts->id, &hosts->ranks[member], parent->rank, &parent->stop);

	if (result != ncclSuccess)
		return result;
	int err = socket_send(fd, id, sizeof(*id));
	close(fd);
	return err ? ncclRemoteError : ncclSuccess;
}

static ncclResult_t lead_shrink(struct comm_job *job, ncclUniqueId *id)
{
	struct ncclComm *parent = job->comm;
	ncclResult_t result = meeting_open(id);

	for (int member = parent->rank + 1; member < parent->nranks && result == ncclSuccess; member++) {
		if (!job->excluded[member])
			result = send_id(parent, member, id);
	}
	return result;
}

static ncclResult_t receive_id(struct ncclComm *parent, ncclUniqueId *id)
{
	struct hosts *hosts = &parent->hosts;
	int fd, leader;
	ncclResult_t result = meeting_answer(&fd, &hosts->id, hosts->listener, &leader, &parent->stop);

	if (result != ncclSuccess)
		return result;
	int err = socket_receive(fd, id, sizeof(*id), -1, &parent->stop);
	close(fd);
	return err ? ncclRemoteError : ncclSuccess;
}

/* The ranks that stay keep their order; the first of them opens the meeting. */
static ncclResult_t run_shrink(struct comm_job *job)
{
	struct ncclComm *parent = job->comm;
	int nranks = 0, rank = 0;
	ncclUniqueId id;

	for (int i = 0; i < parent->nranks; i++) {
		if (job->excluded[i])
			continue;
		rank += i < parent->rank;
		nranks++;
	}
	ncclResult_t result = rank == 0 ? lead_shrink(job, &id) : receive_id(parent, &id);
	return result == ncclSuccess ? init_child(job, 0, rank, nranks, &id) : result;
}

/* With the parent known to be usable. Without a config the child has the parent's. */
static ncclResult_t child_new(struct comm_job *job, const ncclConfig_t *config)
{
	return comm_new(&job->child, config ? config : &job->comm->config, job->comm->device);
}

/* In an open group. */
static ncclResult_t split(struct comm_job *job, const ncclConfig_t *config)
{
	ncclResult_t result = comm_ready(job->comm);

	if (result != ncclSuccess)
		return result;
	if (job->color < NCCL_SPLIT_NOCOLOR)
		return ncclInvalidArgument;
	*job->out = NULL;
	if (job->color != NCCL_SPLIT_NOCOLOR)
		result = child_new(job, config);
	return result == ncclSuccess ? group_add_job(job) : result;
}

ncclResult_t pncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t *out, ncclConfig_t *config)
{
	struct comm_job job = { .run = run_split, .comm = parent, .out = out, .color = color, .key = key };

	if (!parent || !out) {
		log_warn("ncclCommSplit : %s argument is NULL", parent ? "newcomm" : "comm");
		return ncclInvalidArgument;
	}
	group_enter();
	return group_leave_with(split(&job, config), parent);
}
EXPORT_WEAK(CommSplit);

/* True when the list names ranks of the communicator, and not the caller. */
static bool exclude(const struct ncclComm *comm, const int *ranks, int count, bool *excluded)
{
	for (int i = 0; i < count; i++) {
		if (ranks[i] < 0 || ranks[i] >= comm->nranks)
			return false;
		excluded[ranks[i]] = true;
	}
	return !excluded[comm->rank];
}

static ncclResult_t shrink(struct comm_job *job, const int *ranks, int count, const ncclConfig_t *config)
{
	struct ncclComm *parent = job->comm;
	ncclResult_t result = comm_ready(parent);

	if (result != ncclSuccess)
		return result;
	job->excluded = calloc((size_t)parent->nranks, sizeof(*job->excluded));
	if (!job->excluded)
		return ncclSystemError;
	if (exclude(parent, ranks, count, job->excluded)) {
		result = child_new(job, config);
	} else {
		log_warn("ncclCommShrink : excludeRanksList holds the calling rank %d or a number outside 0..%d",
			 parent->rank, parent->nranks - 1);
		result = ncclInvalidArgument;
	}
	if (result == ncclSuccess)
		return group_add_job(job);
	job_clear(job);
	return result;
}

/* What runs on the parent ends, then the parent goes on. */
static void stop_for_shrink(struct ncclComm *parent)
{
	atomic_store(&parent->stop, true);
	comm_drain(parent);
	atomic_store(&parent->stop, false);
}

ncclResult_t pncclCommShrink(ncclComm_t parent, int *ranks, int count, ncclComm_t *out, ncclConfig_t *config, int flags)
{
	struct comm_job job = { .run = run_shrink, .comm = parent, .out = out };
	ncclResult_t result = release_offers(CALLS_2_27, "ncclCommShrink");

	if (result != ncclSuccess)
		return result;
	if (!parent || !out || !ranks || count < 1) {
		log_warn("ncclCommShrink : an argument is NULL or excludeRanksCount is %d", count);
		return ncclInvalidArgument;
	}
	group_enter();
	if (flags & NCCL_SHRINK_ABORT)
		stop_for_shrink(parent);
	*out = NULL;
	return group_leave_with(shrink(&job, ranks, count, config), parent);
}
EXPORT_WEAK(CommShrink);

ncclResult_t pncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *id)
{
	ncclResult_t result = release_offers(CALLS_2_29, "ncclCommGetUniqueId");

	if (result != ncclSuccess)
		return result;
	return comm && id ? meeting_open(id) : ncclInvalidArgument;
}
EXPORT_WEAK(CommGetUniqueId);

/* One of the parent's ranks has the id; NULL: none of them. */
static const ncclUniqueId *growth_id(const struct ncclComm *parent)
{
	static const ncclUniqueId none;
	const struct segment_rank *ranks = parent->segment.shared->ranks;

	for (int i = 0; i < parent->nranks; i++)
		if (memcmp(&ranks[i].split_id, &none, sizeof(none)) != 0)
			return &ranks[i].split_id;
	return NULL;
}

/* The parent's ranks keep their places. */
static ncclResult_t run_grow(struct comm_job *job)
{
	struct ncclComm *parent = job->comm;

	parent->segment.shared->ranks[parent->rank].split_id = job->id;
	ncclResult_t result = comm_meet(parent);
	const ncclUniqueId *found = growth_id(parent);
	ncclUniqueId id = found ? *found : job->id;
	if (result == ncclSuccess)
		result = comm_meet(parent); /* all have read it */
	if (result != ncclSuccess)
		return result;
	if (!found)
		return ncclInvalidArgument;
	struct ncclComm *child = job->child;
	result = comm_init(child, &id, meeting_hash(id.internal, sizeof(id.internal), 0), parent->rank, job->key);
	if (result == ncclSuccess) {
		*job->out = child;
		job->child = NULL;
	}
	return result;
}

static ncclResult_t grow(struct comm_job *job, const ncclConfig_t *config)
{
	ncclResult_t result = comm_ready(job->comm);

	if (result == ncclSuccess)
		result = child_new(job, config);
	return result == ncclSuccess ? group_add_job(job) : result;
}

ncclResult_t pncclCommGrow(ncclComm_t parent, int nranks, const ncclUniqueId *id, int rank, ncclComm_t *out,
			   ncclConfig_t *config)
{
	ncclResult_t result = release_offers(CALLS_2_29, "ncclCommGrow");
	struct comm_job job = { .run = run_grow, .comm = parent, .out = out, .key = nranks };

	if (result != ncclSuccess)
		return result;
	if (!out || nranks <= 0 || (parent && (nranks <= parent->nranks || rank != -1)) || (!parent && !id)) {
		log_warn("ncclCommGrow : invalid arguments: %d ranks, rank %d", nranks, rank);
		return ncclInvalidArgument;
	}
	*out = NULL;
	if (!parent)
		return pncclCommInitRankConfig(out, nranks, *id, rank, config);
	if (id)
		job.id = *id;
	group_enter();
	return group_leave_with(grow(&job, config), parent);
}
EXPORT_WEAK(CommGrow);
