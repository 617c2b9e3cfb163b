/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/analysis/jobs/small_job.h"

static const char remedy[] = "RANKWATCH_GPU_TIME=off";

static uint64_t ns(double second)
{
	return (uint64_t)(second * 1e9);
}

Test(held, a_call_of_our_own_that_does_not_return_is_told_as_our_fault_with_what_leaves_it_out)
{
	struct small_job job;
	small_job_open(&job);
	small_job_start(&job);
	cr_assert_eq(analysis_set_held(job.analysis, 2, "cuMemHostRegister", remedy, ns(1010)), 0);
	small_job_tick(&job, 1014.5);
	cr_expect_eq(job.count, 0, "not before it is long");
	small_job_tick(&job, 1016);
	cr_assert_eq(job.count, 1);
	const struct small_job_finding *told = small_job_last(&job);
	cr_expect_eq(told->kind, RW_KIND_BLIND);
	cr_expect_eq(told->severity, RW_WARNING);
	cr_expect_eq(told->rank, 2);
	cr_expect_str_eq(told->text,
			 "rank 2 is held up by rankwatch itself: its call of cuMemHostRegister has not returned for 6 s");
	cr_expect_str_eq(told->advice,
			 "start the job with RANKWATCH_GPU_TIME=off; please report it with the driver's version");
	small_job_tick(&job, 1017);
	cr_expect_eq(job.count, 1, "once");
	analysis_set_held(job.analysis, 2, NULL, NULL, ns(1018));
	small_job_tick(&job, 1018);
	cr_assert_eq(job.count, 2);
	cr_expect_eq(small_job_last(&job)->state, RW_FINDING_CLOSED);
	small_job_close(&job);
}

Test(held, calls_one_after_the_other_are_each_on_their_own)
{
	struct small_job job;
	small_job_open(&job);
	small_job_start(&job);
	for (int i = 0; i < 5; i++) {
		analysis_set_held(job.analysis, 2, i % 2 ? "cuFuncLoad" : "cuModuleLoadData", remedy, ns(1010 + i * 3));
		small_job_tick(&job, 1012.5 + i * 3);
	}
	cr_expect_eq(job.count, 0);
	small_job_close(&job);
}

Test(held, a_process_whose_rank_nobody_knows_is_told_by_its_number)
{
	struct small_job job;
	small_job_open(&job);
	job.boxes[2].world_rank = -1;
	small_job_start(&job);
	analysis_set_held(job.analysis, 2, "cuMemHostRegister", remedy, ns(1010));
	small_job_tick(&job, 1016);
	cr_assert_eq(job.count, 1);
	cr_expect_eq(small_job_last(&job)->rank_count, 0);
	cr_expect(strstr(small_job_last(&job)->text, "process ") == small_job_last(&job)->text, "%s",
		  small_job_last(&job)->text);
	small_job_close(&job);
}
