/* SPDX-License-Identifier: MIT */
/* A job that is started again while the collector goes on watching. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "analysis/model.h"
#include "analysis/view/view.h"
#include "tests/unit/analysis/jobs/small_job.h"

enum { XID = 48, OPERATIONS = 3 };

static void record_operations(struct small_job *job, int first_id)
{
	for (int rank = 0; rank < SMALL_JOB_RANKS; rank++)
		for (uint64_t i = 0; i < OPERATIONS; i++) {
			const struct rw_operation operation = {
				.ticket = i + 1, .known = RW_KNOWN_IDENT | RW_KNOWN_API, .function = RW_FUNCTION_ALL_REDUCE,
				.dtype = RW_DTYPE_FLOAT32, .count = 8, .sequence = i, .api_tid = 1, .api_ns = 1000000000000 + i,
			};

			cr_assert_eq(analysis_add_operation(job->analysis, (analysis_process_id)(first_id + rank), &operation), 0);
		}
}

static int add_rank(struct small_job *job, int id, int rank, int generation)
{
	job->boxes[rank].generation = generation;
	const struct analysis_process process = {
		.id = (analysis_process_id)id, .pid = 500 + id, .box = &job->boxes[rank]
	};
	const struct rw_communicator communicator = {
		.id = 0x5eed + (uint64_t)generation, .rank = rank, .nranks = SMALL_JOB_RANKS, .nnodes = 1, .created_ns = 1
	};

	return analysis_add_process(job->analysis, &process) ||
	       analysis_add_communicator(job->analysis, process.id, 0, &communicator);
}

static void kill_ranks(struct small_job *job, int from, int to, double second)
{
	for (int id = from; id < to; id++)
		cr_assert_eq(analysis_set_life(job->analysis, (analysis_process_id)id, ANALYSIS_KILLED, 9,
					       (uint64_t)(second * 1e9)),
			     0);
}

static struct analysis_summary summary_of(const struct small_job *job)
{
	struct analysis_summary summary;

	analysis_summarise(job->analysis, &summary);
	return summary;
}

static void begin(struct small_job *job)
{
	small_job_open(job);
	small_job_start(job);
	record_operations(job, 0);
	small_job_tick(job, 1001);
}

Test(lives, what_was_open_is_closed_and_the_sums_of_the_run_go_on)
{
	static struct small_job job;
	struct analysis_gpu_event event = small_job_event(2, 1002, XID);

	begin(&job);
	cr_assert_eq(analysis_add_gpu_event(job.analysis, &event), 0);
	small_job_tick(&job, 1003);
	cr_assert_eq(small_job_last(&job)->kind, RW_KIND_GPU);
	cr_assert_neq(small_job_last(&job)->state, RW_FINDING_CLOSED);
	kill_ranks(&job, 0, SMALL_JOB_RANKS, 1010);
	size_t before = job.count;

	for (int rank = 0; rank < SMALL_JOB_RANKS; rank++) {
		job.boxes[rank].created_ns = UINT64_C(1200000000000);
		cr_assert_eq(add_rank(&job, 10 + rank, rank, 1), 0);
	}
	cr_expect_eq(job.count, before + 1);
	cr_expect_eq(small_job_last(&job)->kind, RW_KIND_GPU);
	cr_expect_eq(small_job_last(&job)->state, RW_FINDING_CLOSED);
	record_operations(&job, 10);
	for (int second = 1201; second < 1300; second++)
		small_job_tick(&job, second);
	cr_expect_eq(job.count, before + 1, "an Xid of the life before is history");
	const struct analysis_summary summary = summary_of(&job);

	cr_expect_eq(summary.processes, SMALL_JOB_RANKS);
	cr_expect_eq(summary.operations, 2 * SMALL_JOB_RANKS * OPERATIONS);
	cr_expect_eq(summary.communicators, 2);
	cr_expect_eq(summary.findings_opened, 1);
	cr_expect_eq(job.analysis->job.rank_count, SMALL_JOB_RANKS);
	cr_expect_eq(analysis_set_life(job.analysis, 1, ANALYSIS_KILLED, 9, 1), -22, "nobody knows the earlier processes");
	small_job_close(&job);
}

Test(lives, while_one_rank_lives_or_where_another_rank_comes_late_it_is_the_same_life)
{
	static struct small_job job;

	begin(&job);
	kill_ranks(&job, 1, SMALL_JOB_RANKS, 1010);
	cr_assert_eq(add_rank(&job, 10, 2, 1), 0);
	cr_expect_eq(job.analysis->job.process_count, SMALL_JOB_RANKS + 1, "rank 0 lives");
	small_job_close(&job);

	small_job_open(&job);
	for (int rank = 0; rank < 2; rank++)
		cr_assert_eq(add_rank(&job, rank, rank, 0), 0);
	kill_ranks(&job, 0, 2, 1001);
	cr_assert_eq(add_rank(&job, 2, 2, 0), 0);
	cr_expect_eq(job.analysis->job.process_count, 3, "rank 2 was not there before");
	job.boxes[0].world_rank = -1;
	kill_ranks(&job, 2, 3, 1001);
	cr_assert_eq(add_rank(&job, 3, 0, 1), 0);
	cr_expect_eq(job.analysis->job.process_count, 4, "nobody knows which rank it is");
	small_job_close(&job);
}

Test(lives, whoever_watches_the_time_goes_on_watching)
{
	static struct small_job job;

	begin(&job);
	analysis_keep_cells(job.analysis);
	uint64_t changes = job.analysis->cells.changes;
	kill_ranks(&job, 0, SMALL_JOB_RANKS, 1010);
	cr_assert_eq(add_rank(&job, 10, 0, 1), 0);
	cr_expect_eq(job.analysis->account.cells, &job.analysis->cells);
	cr_expect_gt(job.analysis->cells.changes, changes);
	cr_expect_eq(job.analysis->findings.job, &job.analysis->job);
	small_job_close(&job);
}
