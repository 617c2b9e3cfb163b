/* SPDX-License-Identifier: MIT */
#include "sim/nccl/launch/work.h"

#include <stddef.h>
#include <stdlib.h>

#include "sim/nccl/comm/comm_life.h"
#include "sim/nccl/launch/launch.h"
#include "sim/nccl/log.h"

struct work {
	struct comm_job *jobs;
	struct plan *plans;
	/* Only of work on a thread of its own: */
	struct async async;
	struct ncclComm **comms; /* distinct; each holds a reference */
	size_t comm_count;
	atomic_uint references;
	atomic_bool joined;
};

/* One that failed would leave the others waiting for it. */
static void stop_jobs(struct work *work)
{
	for (struct comm_job *job = work->jobs; job; job = job->next) {
		if (job->ends)
			continue;
		atomic_store(&job->comm->stop, true);
		if (job->child)
			atomic_store(&job->child->stop, true);
	}
}

static void job_run(struct async *async)
{
	struct comm_job *job = (struct comm_job *)((char *)async - offsetof(struct comm_job, async));

	job->result = job->run(job);
	if (job->result != ncclSuccess)
		stop_jobs(job->work);
}

/* Each on its own thread: they wait for each other when one thread drives several ranks. */
static void start_job(struct comm_job *job)
{
	job->async.run = job_run;
	if (async_start(&job->async))
		return;
	job->run = NULL;
	job->result = ncclSystemError;
	stop_jobs(job->work);
}

static ncclResult_t run_jobs(struct work *work)
{
	ncclResult_t result = ncclSuccess;

	for (struct comm_job *job = work->jobs; job; job = job->next)
		job->work = work;
	if (work->jobs && !work->jobs->next)
		return work->jobs->result = work->jobs->run(work->jobs);
	for (struct comm_job *job = work->jobs; job; job = job->next)
		start_job(job);
	for (struct comm_job *job = work->jobs; job; job = job->next) {
		if (job->run)
			pthread_join(job->async.thread, NULL);
		if (result == ncclSuccess)
			result = job->result;
	}
	return result;
}

void job_clear(struct comm_job *job)
{
	if (job->child)
		comm_reclaim(job->child);
	free(job->excluded);
}

static void jobs_free(struct comm_job *jobs)
{
	while (jobs) {
		struct comm_job *next = jobs->next;
		job_clear(jobs);
		free(jobs);
		jobs = next;
	}
}

static void plans_drop(struct plan *plans)
{
	while (plans) {
		struct plan *next = plans->next;
		plan_drop(plans);
		plans = next;
	}
}

/* Leaves the jobs: who aborts may be looking at them. */
static ncclResult_t work_do(struct work *work)
{
	struct plan *plans = work->plans;
	ncclResult_t result = run_jobs(work);

	work->plans = NULL;
	if (result == ncclSuccess)
		return launch_plans(plans);
	plans_drop(plans);
	return result;
}

ncclResult_t work_run(struct comm_job *jobs, struct plan *plans)
{
	struct work work = { .jobs = jobs, .plans = plans };
	ncclResult_t result = work_do(&work);

	jobs_free(jobs);
	return result;
}

static bool add_comm(struct work *work, struct ncclComm *comm)
{
	for (size_t i = 0; i < work->comm_count; i++) {
		if (work->comms[i] == comm)
			return true;
	}
	struct ncclComm **grown = realloc(work->comms, (work->comm_count + 1) * sizeof(*grown));
	if (!grown)
		return false;
	work->comms = grown;
	work->comms[work->comm_count++] = comm;
	return true;
}

static void work_free(struct work *work)
{
	jobs_free(work->jobs);
	free(work->comms);
	free(work);
}

static struct work *work_new(struct comm_job *jobs, struct plan *plans)
{
	struct work *work = calloc(1, sizeof(*work));
	bool added = work != NULL;

	for (struct comm_job *job = jobs; job && added; job = job->next)
		added = add_comm(work, job->comm);
	for (struct plan *plan = plans; plan && added; plan = plan->next)
		added = add_comm(work, plan->comm);
	if (!added) {
		if (work)
			work_free(work);
		return NULL;
	}
	work->jobs = jobs;
	work->plans = plans;
	return work;
}

static void work_on(struct async *async)
{
	struct work *work = (struct work *)((char *)async - offsetof(struct work, async));
	ncclResult_t result = work_do(work);

	/* Whoever sees the state joins this thread before it frees the communicator or the work. */
	for (size_t i = 0; i < work->comm_count; i++)
		atomic_store(&work->comms[i]->state, result);
}

static void work_release(struct work *work)
{
	if (atomic_fetch_sub(&work->references, 1) == 1)
		work_free(work);
}

static void hold(struct work *work)
{
	for (size_t i = 0; i < work->comm_count; i++) {
		struct ncclComm *comm = work->comms[i];
		/* The last group of this communicator ended in an error that nobody waited for. */
		work_join(comm);
		atomic_fetch_add(&work->references, 1);
		atomic_store(&comm->work, work);
		atomic_store(&comm->state, ncclInProgress);
	}
}

ncclResult_t work_start(struct comm_job *jobs, struct plan *plans)
{
	struct work *work = work_new(jobs, plans);

	if (!work) {
		work_drop(jobs, plans, ncclSystemError);
		return ncclSystemError;
	}
	atomic_init(&work->references, 1);
	hold(work);
	work->async.run = work_on;
	if (!async_start(&work->async)) {
		log_warn("cannot start a thread for communicators that do not block");
		atomic_store(&work->joined, true);
		plans_drop(work->plans);
		for (size_t i = 0; i < work->comm_count; i++)
			atomic_store(&work->comms[i]->state, ncclSystemError);
		work_release(work);
		return ncclSystemError;
	}
	work_release(work);
	return ncclInProgress;
}

void work_drop(struct comm_job *jobs, struct plan *plans, ncclResult_t error)
{
	for (struct comm_job *job = jobs; job; job = job->next) {
		if (!job->ends && !job->comm->config.blocking)
			atomic_store(&job->comm->state, error);
	}
	for (struct plan *plan = plans; plan; plan = plan->next) {
		if (!plan->comm->config.blocking)
			atomic_store(&plan->comm->state, error);
	}
	jobs_free(jobs);
	plans_drop(plans);
}

static void finish(struct ncclComm *comm, bool abort)
{
	struct work *work = atomic_exchange(&comm->work, NULL);

	if (!work)
		return;
	if (!atomic_exchange(&work->joined, true)) {
		if (abort)
			stop_jobs(work);
		pthread_join(work->async.thread, NULL);
	}
	work_release(work);
}

void work_join(struct ncclComm *comm)
{
	finish(comm, false);
}

void work_abort(struct ncclComm *comm)
{
	finish(comm, true);
}

ncclResult_t comm_error(struct ncclComm *comm)
{
	ncclResult_t error = atomic_load(&comm->state);

	if (error == ncclSuccess)
		error = atomic_load(&comm->async_error);
	if (error == ncclSuccess)
		work_join(comm);
	return error;
}

ncclResult_t comm_ready(struct ncclComm *comm)
{
	if (atomic_load(&comm->stop)) {
		work_abort(comm);
		return ncclSuccess;
	}
	ncclResult_t error = comm_error(comm);
	if (error != ncclInProgress)
		return error;
	log_warn("Attempt to use communicator before the previous operation returned ncclSuccess");
	return ncclInvalidArgument;
}
