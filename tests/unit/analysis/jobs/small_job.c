/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/small_job.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void emit(void *argument, const struct rw_finding *finding)
{
	struct small_job *job = argument;
	struct small_job_finding *kept = &job->findings[job->count++ % SMALL_JOB_FINDINGS];

	*kept = (struct small_job_finding){
		.state = finding->state,
		.severity = finding->severity,
		.confidence = finding->confidence,
		.kind = finding->kind,
		.scope = finding->scope,
		.standing = finding->standing,
		.class_ = finding->cause.class_,
		.rank_count = finding->rank_count,
		.evidence_count = finding->evidence_count,
		.rank = finding->ranks[0],
	};
	snprintf(kept->text, sizeof(kept->text), "%s", finding->text);
	snprintf(kept->cause, sizeof(kept->cause), "%s", finding->cause.present ? finding->cause.text : "");
	snprintf(kept->advice, sizeof(kept->advice), "%s", finding->advice ? finding->advice : "");
	for (size_t i = 0; i < finding->evidence_count && i < 4; i++)
		snprintf(kept->evidence[i], sizeof(kept->evidence[i]), "%s", finding->evidence[i].what);
}

void small_job_open(struct small_job *job)
{
	memset(job, 0, sizeof(*job));
	job->hosts = 1;
	job->analysis = analysis_new(false, emit, job);
	cr_assert(job->analysis);
	for (int rank = 0; rank < SMALL_JOB_RANKS; rank++) {
		struct rw_box_header *box = &job->boxes[rank];

		snprintf(box->host, sizeof(box->host), "a");
		snprintf(box->job, sizeof(box->job), "test");
		box->world_rank = rank;
		box->world_size = SMALL_JOB_RANKS;
		box->created_ns = 1000000000000;
		box->nccl_version = 22809;
		box->cuda_driver_version = 13000;
		box->rankwatch_version = 0x000100;
		box->devices[0].used = 1;
		snprintf(box->devices[0].pci, sizeof(box->devices[0].pci), "0000:%02X:00.0",
			 (0x10 + (unsigned int)rank) & 0xff);
	}
}

void small_job_start(struct small_job *job)
{
	for (int rank = 0; rank < SMALL_JOB_RANKS; rank++) {
		const struct analysis_process process = { .id = (analysis_process_id)rank,
							  .pid = 100 + rank,
							  .box = &job->boxes[rank] };
		const struct rw_communicator communicator = {
			.id = 0x5eed, .rank = rank, .nranks = SMALL_JOB_RANKS, .nnodes = job->hosts, .created_ns = 1
		};

		cr_assert_eq(analysis_add_process(job->analysis, &process), 0);
		cr_assert_eq(analysis_add_communicator(job->analysis, process.id, 0, &communicator), 0);
	}
}

void small_job_close(struct small_job *job)
{
	analysis_free(job->analysis);
}

void small_job_tick(struct small_job *job, double second)
{
	analysis_tick(job->analysis, (uint64_t)(second * 1e9));
}

struct analysis_gpu_state small_job_state(int rank, double second)
{
	struct analysis_gpu_state state = { .at_ns = (uint64_t)(second * 1e9),
					    .sm_mhz = 1980,
					    .sm_mhz_max = 1980,
					    .celsius = 45,
					    .watts = 300,
					    .watts_cap = 700,
					    .memory_used = 1LL << 30,
					    .memory_total = 16LL << 30 };

	snprintf(state.pci, sizeof(state.pci), "00000000:%02X:00.0", 0x10 + rank);
	return state;
}

struct analysis_gpu_event small_job_event(int rank, double second, uint32_t xid)
{
	struct analysis_gpu_event event = {
		.source = ANALYSIS_GPU_KERNEL_LOG, .at_ns = (uint64_t)(second * 1e9), .xid = xid, .pid = -1
	};

	snprintf(event.pci, sizeof(event.pci), "0000:%02x:00", 0x10 + rank);
	return event;
}

const struct small_job_finding *small_job_last(const struct small_job *job)
{
	cr_assert_gt(job->count, 0);
	return &job->findings[(job->count - 1) % SMALL_JOB_FINDINGS];
}
