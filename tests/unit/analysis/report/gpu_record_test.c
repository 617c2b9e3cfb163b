/* SPDX-License-Identifier: MIT */
/* How a GPU's memory went, kept in a box and told again from it. */
#include <criterion/criterion.h>
#include <errno.h>

#include "analysis/report/gpu_record.h"
#include "analysis/host/gpus.h"
#include "analysis/model.h"
#include "tests/unit/analysis/jobs/small_job.h"

static const int64_t gib = INT64_C(1) << 30;
enum { RANK = 2, PROCESS = RANK, READINGS = 100 };

/* 6 GiB more from the fourth second on. */
static void tell_memory(struct small_job *job)
{
	for (int i = 0; i < READINGS; i++) {
		struct analysis_gpu_state state = small_job_state(RANK, 1001 + i / 2.0);

		state.memory_used = (i < 8 ? 15 : 21) * gib;
		state.memory_total = 80 * gib;
		cr_assert_eq(analysis_add_gpu_state(job->analysis, &state), 0);
	}
}

static const struct gpu_course *course_of(const struct small_job *job)
{
	return &gpus_of_rank(&job->analysis->gpus, &job->analysis->job.ranks[RANK])->course;
}

static struct rw_gpu_memory recorded(void)
{
	struct small_job job;
	struct rw_gpu_memory record;

	small_job_open(&job);
	small_job_start(&job);
	cr_expect_not(gpu_record_take(job.analysis, PROCESS, &record), "nothing is known yet");
	tell_memory(&job);
	cr_expect_not(gpu_record_take(job.analysis, PROCESS + 1, &record), "nor of another rank's");
	cr_expect_not(gpu_record_take(job.analysis, 4711, &record));
	cr_assert(gpu_record_take(job.analysis, PROCESS, &record));
	small_job_close(&job);
	return record;
}

Test(gpu_record, from_a_box_the_same_is_said)
{
	const struct rw_gpu_memory record = recorded();
	struct small_job job;

	small_job_open(&job);
	small_job_start(&job);
	cr_assert_eq(gpu_record_put(job.analysis, PROCESS, &record), 0);
	struct gpu_course_verdict verdict = gpu_course_judge(course_of(&job), 0);

	cr_expect_eq(verdict.course, ANALYSIS_MEMORY_FLAT);
	cr_expect_eq(verdict.grown, 6 * gib);
	cr_expect_eq(verdict.used, 21 * gib);
	cr_expect_eq(verdict.from_ns, UINT64_C(1005000000000));
	cr_expect_eq(course_of(&job)->total, 80 * gib);
	cr_expect_not(gpus_of_rank(&job.analysis->gpus, &job.analysis->job.ranks[RANK])->is_read,
		      "nobody has read its health");

	/* A collector that was started again goes on from there. */
	uint32_t before = course_of(&job)->count;
	struct analysis_gpu_state state = small_job_state(RANK, 1100);

	state.memory_used = 22 * gib;
	state.memory_total = 80 * gib;
	cr_assert_eq(analysis_add_gpu_state(job.analysis, &state), 0);
	cr_expect_eq(course_of(&job)->count, before + 1);
	cr_expect_eq(gpu_record_put(job.analysis, PROCESS, &record), 0);
	cr_expect_eq(course_of(&job)->count, before + 1, "what is known already stays");
	small_job_close(&job);
}

Test(gpu_record, what_a_box_cannot_mean_is_refused)
{
	struct rw_gpu_memory wrong[10];
	struct small_job job;

	wrong[0] = recorded();
	for (int i = 1; i < 10; i++)
		wrong[i] = wrong[0];
	wrong[0].version++;
	wrong[1].device = RW_BOX_DEVICES;
	wrong[2].device = 1; /* not used by that process */
	wrong[3].count = 0;
	wrong[4].count = RW_GPU_MEMORY_BINS + 1;
	wrong[5].since_ns = UINT64_MAX;
	wrong[6].bin_ns = 0;
	wrong[7].total = 0;
	wrong[8].bins[3].from_ms = wrong[8].bins[2].from_ms;
	wrong[9].bins[3].until_ms = wrong[9].bins[3].from_ms - 1;
	small_job_open(&job);
	small_job_start(&job);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_expect_eq(gpu_record_put(job.analysis, PROCESS, &wrong[i]), -EINVAL, "case %zu", i);
	cr_expect_eq(gpu_record_put(job.analysis, 4711, &wrong[0]), -EINVAL);
	cr_expect_eq(job.analysis->gpus.count, 0);
	small_job_close(&job);
}
