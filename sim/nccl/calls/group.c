/* SPDX-License-Identifier: MIT */
#include "sim/nccl/calls/group.h"

#include <stdlib.h>

#include "sim/nccl/calls/export.h"
#include "sim/nccl/log.h"
#include "sim/nccl/profiler/profiler.h"
#include "sim/nccl/release.h"

enum blocking { BLOCKING_NOT_KNOWN, BLOCKING_NO, BLOCKING_YES };

static _Thread_local struct {
	int depth;
	enum blocking blocking; /* of the communicators met so far */
	ncclResult_t error;
	struct plan *plans;    /* one per communicator, in order of launch */
	struct comm_job *jobs; /* oldest first */
} group;

void group_enter(void)
{
	group.depth++;
}

static bool is_open(void)
{
	return group.depth > 0;
}

static void fail(ncclResult_t result)
{
	if (group.error == ncclSuccess)
		group.error = result;
}

/*
 * NCCL's order of communicators, the same on all ranks: by number; those that share one, in this process, next to each
 * other, the newest first.
 */
static struct plan **place_of(const struct ncclComm *comm)
{
	struct plan **at = &group.plans;

	while (*at && ((*at)->comm->clique != comm->clique || !comm->clique))
		at = &(*at)->next;
	if (*at)
		return at;
	at = &group.plans;
	while (*at && (*at)->comm->hash < comm->hash)
		at = &(*at)->next;
	return at;
}

static struct plan *group_plan(struct ncclComm *comm)
{
	struct plan *plan = group.plans;

	while (plan && plan->comm != comm)
		plan = plan->next;
	if (plan || !(plan = plan_new(comm)))
		return plan;
	struct plan **at = place_of(comm);
	plan->next = *at;
	*at = plan;
	return plan;
}

static enum blocking blocking_of(const struct ncclComm *comm)
{
	return comm->config.blocking ? BLOCKING_YES : BLOCKING_NO;
}

ncclResult_t group_add_task(const struct task *given)
{
	struct task task = *given;
	struct plan *plan = group_plan(task.comm);

	if (!plan)
		return ncclSystemError;
	group.blocking = blocking_of(task.comm);
	profiler_api_start(&task, group.depth);
	ncclResult_t result = plan_add(plan, &task);
	profiler_api_stop(&task);
	return result;
}

/* One that ends its communicator makes the whole group block. */
static ncclResult_t note_blocking(const struct comm_job *job)
{
	enum blocking blocking = blocking_of(job->comm);

	if (job->ends)
		group.blocking = BLOCKING_YES;
	else if (group.blocking == BLOCKING_NOT_KNOWN)
		group.blocking = blocking;
	if (job->ends || group.blocking == blocking)
		return ncclSuccess;
	log_warn("Blocking and nonblocking communicators are not allowed in the same group.");
	return ncclInvalidArgument;
}

ncclResult_t group_add_job(const struct comm_job *given)
{
	struct comm_job *job = malloc(sizeof(*job));
	struct comm_job **at = &group.jobs;
	struct comm_job owned = *given;
	ncclResult_t result = job ? note_blocking(given) : ncclSystemError;

	if (result != ncclSuccess) {
		job_clear(&owned);
		free(job);
		return result;
	}
	*job = owned;
	job->next = NULL;
	while (*at)
		at = &(*at)->next;
	*at = job;
	return ncclSuccess;
}

/* Empties the group first: what runs may open groups of its own. */
static ncclResult_t group_run(void)
{
	struct plan *plans = group.plans;
	struct comm_job *jobs = group.jobs;
	enum blocking blocking = group.blocking;
	ncclResult_t result = group.error;

	group.plans = NULL;
	group.jobs = NULL;
	group.error = ncclSuccess;
	group.blocking = BLOCKING_NOT_KNOWN;
	if (result != ncclSuccess) {
		work_drop(jobs, plans, result);
		return result;
	}
	if (!jobs && !plans)
		return ncclSuccess;
	return blocking == BLOCKING_NO ? work_start(jobs, plans) : work_run(jobs, plans);
}

/*
 * The outermost one runs the group, or starts it when its communicators do not block, and returns its first error or
 * ncclInProgress. Only after group_enter.
 */
static ncclResult_t leave(void)
{
	if (--group.depth)
		return ncclSuccess;
	profiler_group_end_start();
	ncclResult_t result = group_run();
	profiler_group_api_stop();
	return result;
}

ncclResult_t group_leave_with(ncclResult_t result, struct ncclComm *comm)
{
	bool blocking = !comm || comm->config.blocking;

	if (result != ncclSuccess)
		fail(result);
	ncclResult_t left = leave();
	if (result != ncclSuccess)
		return result;
	return blocking ? left : comm_error(comm);
}

ncclResult_t pncclGroupStart(void)
{
	group_enter();
	return ncclSuccess;
}
EXPORT_WEAK(GroupStart);

ncclResult_t pncclGroupEnd(void)
{
	if (!is_open()) {
		log_warn("ncclGroupEnd: not in a group call.");
		return ncclInvalidUsage;
	}
	return leave();
}
EXPORT_WEAK(GroupEnd);

/* Plans of communicators that block are dropped; the others' are launched all the same, as NCCL does. */
static void simulate(void)
{
	if (group.depth > 1 || group.blocking == BLOCKING_NO || group.error != ncclSuccess)
		return;
	work_drop(NULL, group.plans, ncclSuccess);
	group.plans = NULL;
}

ncclResult_t pncclGroupSimulateEnd(ncclSimInfo_t *info)
{
	ncclResult_t result = release_offers(CALLS_2_23, "ncclGroupSimulateEnd");

	if (result != ncclSuccess)
		return result;
	if (!is_open()) {
		log_warn("ncclGroupEnd: not in a group call.");
		return ncclInvalidUsage;
	}
	if (info && info->magic != NCCL_SIM_INFO_MAGIC) {
		log_warn("ncclSimInfo_t argument not initialized via NCCL_SIM_INFO_INITIALIZER");
		fail(ncclInvalidArgument);
	} else if (info) {
		simulate();
	}
	return leave();
}
EXPORT_WEAK(GroupSimulateEnd);
