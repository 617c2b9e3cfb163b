/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/analysis/jobs/small_job.h"

static struct small_job job;

static void setup(void)
{
	small_job_open(&job);
}

static void teardown(void)
{
	small_job_close(&job);
}

TestSuite(versions, .init = setup, .fini = teardown);

static void look(void)
{
	small_job_start(&job);
	small_job_tick(&job, 1001);
	cr_expect_eq(job.count, 0, "not before everybody has come");
	small_job_tick(&job, 1004);
	small_job_tick(&job, 1010);
}

static void set(int rank, const char *variables, size_t size)
{
	memcpy(job.boxes[rank].environment, variables, size);
}

#define SET(rank, variables) set(rank, variables, sizeof(variables))

Test(versions, ranks_alike_are_silent)
{
	for (int rank = 0; rank < SMALL_JOB_RANKS; rank++)
		SET(rank, "RANK=1\0NCCL_ALGO=Ring\0");
	look();
	cr_expect_eq(job.count, 0);
}

Test(versions, another_nccl_is_told_with_both_versions)
{
	job.boxes[2].nccl_version = 22705;
	look();
	cr_assert_eq(job.count, 1);
	cr_expect_eq(small_job_last(&job)->kind, RW_KIND_VERSION);
	cr_expect_eq(small_job_last(&job)->severity, RW_WARNING);
	cr_expect_eq(small_job_last(&job)->confidence, RW_CERTAIN);
	cr_expect_eq(small_job_last(&job)->rank, 2);
	cr_expect_str_eq(small_job_last(&job)->text, "rank 2 has NCCL 2.27.5 where the others have 2.28.9");
}

Test(versions, a_variable_that_one_rank_lacks_is_told)
{
	for (int rank = 0; rank < SMALL_JOB_RANKS; rank++)
		SET(rank, "NCCL_ALGO=Ring\0");
	SET(1, "RANK=1\0\0\0\0\0\0\0\0\0\0");
	look();
	cr_assert_eq(job.count, 1);
	cr_expect_str_eq(small_job_last(&job)->text, "rank 1 has NCCL_ALGO=not set where the others have Ring");
}

Test(versions, what_each_host_has_for_itself_may_differ)
{
	SET(0, "NCCL_HOSTID=a\0NCCL_SOCKET_IFNAME=eth0\0NCCL_IB_HCA=mlx5_0\0");
	SET(1, "NCCL_HOSTID=b\0NCCL_SOCKET_IFNAME=eth1\0NCCL_DEBUG=INFO\0");
	look();
	cr_expect_eq(job.count, 0);
}

Test(versions, several_differences_are_one_finding)
{
	job.boxes[3].nccl_version = 22705;
	job.boxes[3].cuda_driver_version = 12080;
	SET(3, "NCCL_PROTO=LL\0");
	look();
	cr_assert_eq(job.count, 1);
	cr_assert_eq(small_job_last(&job)->evidence_count, 3);
	cr_expect_str_eq(small_job_last(&job)->evidence[0], "NCCL: 2.27.5, others 2.28.9");
	cr_expect_str_eq(small_job_last(&job)->evidence[1], "the CUDA driver's API: 12.8, others 13.0");
	cr_expect_str_eq(small_job_last(&job)->evidence[2], "NCCL_PROTO: LL, others not set");
}

Test(versions, another_build_of_ours_is_told_with_all_numbers_of_both)
{
	for (int rank = 0; rank < SMALL_JOB_RANKS; rank++)
		job.boxes[rank].rankwatch_version = 1 << 16 | 2 << 8 | 3;
	job.boxes[1].rankwatch_version = 4 << 16 | 5 << 8 | 6;
	look();
	cr_assert_eq(job.count, 1);
	cr_expect_str_eq(small_job_last(&job)->text, "rank 1 has rankwatch 4.5.6 where the others have 1.2.3");
}

Test(versions, half_and_half_is_not_certain)
{
	job.boxes[2].nccl_version = job.boxes[3].nccl_version = 22705;
	look();
	cr_assert_eq(job.count, 1);
	cr_expect_eq(small_job_last(&job)->confidence, RW_LIKELY);
}

Test(versions, of_halves_the_one_without_the_lowest_rank_is_told_whoever_is_seen_first)
{
	static const int seen[SMALL_JOB_RANKS] = { 2, 3, 1, 0 };

	for (int i = 0; i < SMALL_JOB_RANKS; i++) {
		job.boxes[i].world_rank = seen[i];
		job.boxes[i].nccl_version = seen[i] < 2 ? 22705 : 22809;
	}
	look();
	cr_assert_eq(job.count, 1);
	cr_expect_str_eq(small_job_last(&job)->text, "ranks 2,3 have NCCL 2.28.9 where the others have 2.27.5");
}

Test(versions, what_is_not_known_is_no_difference)
{
	job.boxes[0].nccl_version = 0;
	job.boxes[3].cuda_driver_version = 0;
	look();
	cr_expect_eq(job.count, 0);
}

Test(versions, a_foreign_environment_without_an_end_is_read_to_its_end_only)
{
	memset(job.boxes[1].environment, 'N', sizeof(job.boxes[1].environment));
	memcpy(job.boxes[2].environment, "NCCL_", 5);
	memset(job.boxes[2].environment + 5, 'X', sizeof(job.boxes[2].environment) - 5);
	look();
	cr_expect_eq(job.count, 0);
}

Test(versions, ranks_without_the_interposer_are_told)
{
	job.boxes[0].interposed = job.boxes[1].interposed = 1;
	look();
	cr_assert_eq(job.count, 1);
	cr_expect_eq(small_job_last(&job)->severity, RW_NOTICE);
	cr_expect_str_eq(small_job_last(&job)->text,
			 "ranks 2,3 have the interposer off where the others have on");
	cr_expect(strstr(small_job_last(&job)->advice, "LD_PRELOAD"));
}
