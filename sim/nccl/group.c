/* SPDX-License-Identifier: MIT */
#include "group.h"

#include <stdlib.h>

#include "export.h"
#include "launch.h"
#include "log.h"
#include "profiler.h"

static _Thread_local struct {
	int depth;
	ncclResult_t error;
	struct plan *plans;    /* one per communicator, in order of first use */
	struct comm_job *jobs; /* oldest first */
} group;

void group_enter(void)
{
	group.depth++;
}

bool group_is_open(void)
{
	return group.depth > 0;
}

void group_fail(ncclResult_t result)
{
	if (group.error == ncclSuccess)
		group.error = result;
}

static struct plan *group_plan(struct ncclComm *comm)
{
	struct plan **at = &group.plans;

	while (*at && (*at)->comm != comm)
		at = &(*at)->next;
	if (!*at)
		*at = plan_new(comm);
	return *at;
}

ncclResult_t group_add_task(const struct task *given)
{
	struct task task = *given;
	struct plan *plan = group_plan(task.comm);

	if (!plan)
		return ncclSystemError;
	profiler_group_api_start(task.comm, group.depth);
	profiler_api_start(&task);
	plan->channel_events |= profiler_wants_channels(&task);
	ncclResult_t result = plan_add(plan, &task);
	profiler_api_stop(&task);
	return result;
}

ncclResult_t group_add_job(const struct comm_job *given)
{
	struct comm_job *job = malloc(sizeof(*job));
	struct comm_job **at = &group.jobs;

	if (!job)
		return ncclSystemError;
	*job = *given;
	job->next = NULL;
	if (!group.depth) {
		ncclResult_t result = job->run(job);
		free(job);
		return result;
	}
	while (*at)
		at = &(*at)->next;
	*at = job;
	return ncclSuccess;
}

static void *job_main(void *argument)
{
	struct comm_job *job = argument;

	job->result = job->run(job);
	return NULL;
}

/* Each on its own thread: they wait for each other when one thread drives several ranks. */
static ncclResult_t run_jobs(struct comm_job *jobs)
{
	ncclResult_t result = ncclSuccess;

	for (struct comm_job *job = jobs; job; job = job->next) {
		if (pthread_create(&job->thread, NULL, job_main, job) != 0) {
			job->run = NULL;
			result = ncclSystemError;
		}
	}
	while (jobs) {
		struct comm_job *next = jobs->next;
		if (jobs->run)
			pthread_join(jobs->thread, NULL);
		if (result == ncclSuccess)
			result = jobs->result;
		free(jobs);
		jobs = next;
	}
	return result;
}

static void drop_plans(struct plan *plans)
{
	while (plans) {
		struct plan *next = plans->next;
		plan_drop(plans);
		plans = next;
	}
}

static void drop_jobs(struct comm_job *jobs)
{
	while (jobs) {
		struct comm_job *next = jobs->next;
		free(jobs);
		jobs = next;
	}
}

/* Empties the group first: what runs may open groups of its own. */
static ncclResult_t group_run(void)
{
	struct plan *plans = group.plans;
	struct comm_job *jobs = group.jobs;
	ncclResult_t result = group.error;

	group.plans = NULL;
	group.jobs = NULL;
	group.error = ncclSuccess;
	if (result == ncclSuccess && jobs)
		result = run_jobs(jobs);
	else
		drop_jobs(jobs);
	if (result == ncclSuccess)
		return launch_plans(plans);
	drop_plans(plans);
	return result;
}

ncclResult_t group_leave(void)
{
	if (--group.depth)
		return ncclSuccess;
	profiler_group_end_start();
	ncclResult_t result = group_run();
	profiler_group_api_stop();
	return result;
}

ncclResult_t pncclGroupStart(void)
{
	group_enter();
	return ncclSuccess;
}
EXPORT_WEAK(GroupStart);

ncclResult_t pncclGroupEnd(void)
{
	if (!group_is_open()) {
		log_warn("ncclGroupEnd: not in a group call.");
		return ncclInvalidUsage;
	}
	return group_leave();
}
EXPORT_WEAK(GroupEnd);
