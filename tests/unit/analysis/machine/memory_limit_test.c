/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/analysis/jobs/small_job.h"

static struct small_job job;

static void setup(void)
{
	small_job_open(&job);
	small_job_start(&job);
}

static void teardown(void)
{
	small_job_close(&job);
}

TestSuite(memory_limit, .init = setup, .fini = teardown);

enum { LIMIT = 1000 };

static void look(int rank, double second, uint64_t held, uint64_t hits)
{
	struct analysis_memory_state state = { .process = (analysis_process_id)rank, .at_ns = (uint64_t)(second * 1e9),
					       .group = 7, .limit = LIMIT, .held = held, .hits = hits };

	cr_assert_eq(analysis_add_memory_state(job.analysis, &state), 0);
	small_job_tick(&job, second);
}

Test(memory_limit, one_that_is_full_of_what_is_no_cache_and_hit_again_and_again_is_told_until_it_is_not)
{
	for (int i = 0; i < 4; i++) {
		cr_expect_eq(job.count, 0);
		look(2, 1010 + i, 950, 5 + (uint64_t)i);
	}
	cr_assert_eq(job.count, 1);
	const struct small_job_finding *finding = small_job_last(&job);
	cr_expect_eq(finding->kind, RW_KIND_MEMORY);
	cr_expect_eq(finding->severity, RW_WARNING);
	cr_expect_eq(finding->rank, 2);
	cr_expect_eq(finding->rank_count, 1);
	cr_expect(strstr(finding->text, "rank 2: its cgroup is at its memory limit (0 MiB), 95 % of it is no cache"),
		  "%s", finding->text);
	look(2, 1072, 950, 8);
	cr_expect_eq(job.count, 1);
	look(2, 1074, 950, 8);
	cr_expect_eq(small_job_last(&job)->state, RW_FINDING_CLOSED);
}

Test(memory_limit, page_cache_that_fills_it_is_healthy)
{
	for (int i = 0; i < 100; i++)
		look(2, 1010 + i, 600, 100 * (uint64_t)i);
	cr_expect_eq(job.count, 0);
}

Test(memory_limit, one_that_is_nearly_full_and_not_hit_or_now_and_then_is_silent)
{
	for (int i = 0; i < 100; i++)
		look(2, 1010 + i, 990, (uint64_t)i / 10);
	cr_expect_eq(job.count, 0);
}

Test(memory_limit, nine_tenths_are_full_and_a_byte_less_is_not)
{
	for (int i = 0; i < 4; i++)
		look(2, 1010 + i, 899, 5 + (uint64_t)i);
	cr_expect_eq(job.count, 0);
	for (int i = 4; i < 8; i++)
		look(2, 1010 + i, 900, 5 + (uint64_t)i);
	cr_assert_eq(job.count, 1);
	cr_expect_eq(small_job_last(&job)->kind, RW_KIND_MEMORY);
}

Test(memory_limit, ranks_in_one_group_are_one_finding)
{
	for (int i = 0; i < 4; i++)
		for (int rank = 0; rank < SMALL_JOB_RANKS; rank++)
			look(rank, 1010 + i, 950, 5 + (uint64_t)i);
	cr_expect_eq(job.count, 1);
	cr_expect_eq(small_job_last(&job)->rank_count, SMALL_JOB_RANKS);
	cr_expect(strstr(small_job_last(&job)->text, "ranks 0-3: their cgroup is at its memory limit"));
}
