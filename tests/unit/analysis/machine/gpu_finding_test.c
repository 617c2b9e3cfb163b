/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
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

TestSuite(gpu_finding, .init = setup, .fini = teardown);

static void add_state(const struct analysis_gpu_state *state)
{
	cr_assert_eq(analysis_add_gpu_state(job.analysis, state), 0);
	analysis_tick(job.analysis, state->at_ns);
}

static void add_event(const struct analysis_gpu_event *event)
{
	cr_assert_eq(analysis_add_gpu_event(job.analysis, event), 0);
	analysis_tick(job.analysis, event->at_ns);
}

Test(gpu_finding, an_xid_has_its_rank_its_meaning_and_what_to_do)
{
	struct analysis_gpu_event event = small_job_event(2, 1010, 79);

	snprintf(event.text, sizeof(event.text), "GPU has fallen off the bus.");
	add_event(&event);
	const struct small_job_finding *finding = small_job_last(&job);
	cr_expect_eq(job.count, 1);
	cr_expect_eq(finding->kind, RW_KIND_GPU);
	cr_expect_eq(finding->severity, RW_CRITICAL);
	cr_expect_eq(finding->class_, RW_CAUSE_GPU);
	cr_expect_eq(finding->rank, 2);
	cr_expect_str_eq(finding->text, "rank 2 runs on a GPU that reports Xid 79: the GPU has fallen off the bus");
	cr_expect_str_eq(finding->cause, "GPU has fallen off the bus.");
	cr_expect(strstr(finding->advice, "restart"), "%s", finding->advice);
}

Test(gpu_finding, one_xid_from_both_sources_is_told_once)
{
	struct analysis_gpu_event event = small_job_event(1, 1010, 48);

	event.source = ANALYSIS_GPU_NVML;
	add_event(&event);
	event = small_job_event(1, 1011, 48);
	snprintf(event.text, sizeof(event.text), "DBE at 0x1");
	add_event(&event);
	small_job_tick(&job, 1013);
	cr_expect_eq(job.count, 1);
	cr_expect_eq(small_job_last(&job)->evidence_count, 1);
}

Test(gpu_finding, a_graver_xid_updates_and_of_a_burst_the_first_stays)
{
	struct analysis_gpu_event event = small_job_event(1, 1010, 13);

	add_event(&event);
	cr_expect_eq(small_job_last(&job)->severity, RW_WARNING);
	event = small_job_event(1, 1012, 48);
	add_event(&event);
	cr_expect_eq(small_job_last(&job)->state, RW_FINDING_UPDATE);
	cr_expect_eq(small_job_last(&job)->severity, RW_CRITICAL);
	event = small_job_event(1, 1013, 94);
	add_event(&event);
	small_job_tick(&job, 1016);
	cr_expect(strstr(small_job_last(&job)->text, "Xid 48"), "%s", small_job_last(&job)->text);
}

Test(gpu_finding, xids_of_earlier_jobs_and_of_other_jobs_gpus_are_silent)
{
	struct analysis_gpu_event event = small_job_event(1, 500, 79);

	add_event(&event);
	event = small_job_event(40, 1010, 79);
	add_event(&event);
	cr_expect_eq(job.count, 0);
}

Test(gpu_finding, an_xid_that_is_known_before_its_time_is_told_then)
{
	struct analysis_gpu_event event = small_job_event(1, 1010, 79);
	struct analysis_summary summary;

	cr_assert_eq(analysis_add_gpu_event(job.analysis, &event), 0);
	small_job_tick(&job, 1009);
	analysis_summarise(job.analysis, &summary);
	cr_expect_eq(job.count, 0);
	cr_expect_eq(summary.xids, 0);
	small_job_tick(&job, 1010);
	analysis_summarise(job.analysis, &summary);
	cr_expect_eq(job.count, 1);
	cr_expect_eq(summary.xids, 1);
}

Test(gpu_finding, what_is_only_worth_a_notice_is_closed_after_ten_minutes)
{
	struct analysis_gpu_event event = small_job_event(1, 1010, 63);

	add_event(&event);
	cr_expect_eq(small_job_last(&job)->severity, RW_NOTICE);
	small_job_tick(&job, 1600);
	cr_expect_eq(job.count, 1);
	small_job_tick(&job, 1611);
	cr_expect_eq(small_job_last(&job)->state, RW_FINDING_CLOSED);
}

Test(gpu_finding, errors_from_before_are_no_news_and_new_ones_are)
{
	struct analysis_gpu_state state = small_job_state(3, 1001);

	state.ecc_uncorrected = 5;
	add_state(&state);
	cr_expect_eq(job.count, 0);
	state.at_ns += 1000000000;
	state.ecc_uncorrected = 6;
	add_state(&state);
	cr_expect_eq(small_job_last(&job)->severity, RW_WARNING);
	cr_expect(strstr(small_job_last(&job)->text, "1 uncorrectable memory error since"), "%s",
		  small_job_last(&job)->text);
	cr_expect_eq(small_job_last(&job)->rank, 3);
}

Test(gpu_finding, rows_that_wait_for_a_reset_are_told_until_they_do_not)
{
	struct analysis_gpu_state state = small_job_state(0, 1001);

	state.remap_pending = 1;
	add_state(&state);
	cr_expect_eq(small_job_last(&job)->severity, RW_WARNING);
	state.remap_failure = 1;
	state.at_ns += 2000000000;
	add_state(&state);
	cr_expect_eq(small_job_last(&job)->severity, RW_CRITICAL);
	state.remap_failure = state.remap_pending = 0;
	state.at_ns += 2000000000;
	add_state(&state);
	cr_expect_eq(small_job_last(&job)->state, RW_FINDING_CLOSED);
}

Test(gpu_finding, a_lost_gpu_is_critical)
{
	struct analysis_gpu_state state = small_job_state(0, 1001);

	state.lost = true;
	add_state(&state);
	cr_expect_eq(small_job_last(&job)->severity, RW_CRITICAL);
	cr_expect(strstr(small_job_last(&job)->text, "the driver has lost"), "%s", small_job_last(&job)->text);
}

Test(gpu_finding, held_back_for_ten_seconds_is_told_and_a_moment_is_not)
{
	struct analysis_gpu_state state = small_job_state(2, 1001);

	state.clock_reasons = ANALYSIS_CLOCK_HW_POWER_BRAKE;
	for (int second = 1001; second < 1011; second++) {
		state.at_ns = (uint64_t)second * 1000000000;
		add_state(&state);
	}
	cr_expect_eq(job.count, 0);
	state.at_ns = UINT64_C(1011000000000);
	add_state(&state);
	cr_expect_eq(small_job_last(&job)->class_, RW_CAUSE_THROTTLE);
	cr_expect(strstr(small_job_last(&job)->text, "power brake"), "%s", small_job_last(&job)->text);
	state.clock_reasons = 0;
	state.at_ns += 1000000000;
	add_state(&state);
	cr_expect_eq(small_job_last(&job)->state, RW_FINDING_CLOSED);
}

Test(gpu_finding, a_power_cap_under_full_load_is_silent)
{
	struct analysis_gpu_state state = small_job_state(2, 1001);

	state.clock_reasons = ANALYSIS_CLOCK_POWER_CAP;
	for (int second = 1001; second < 1060; second++) {
		state.at_ns = (uint64_t)second * 1000000000;
		add_state(&state);
	}
	cr_expect_eq(job.count, 0);
}

Test(gpu_finding, many_nvlink_errors_in_a_minute_are_told_and_few_are_not)
{
	struct analysis_gpu_state state = small_job_state(2, 1001);

	add_state(&state);
	state.nvlink_errors = 99;
	state.at_ns += 1000000000;
	add_state(&state);
	cr_expect_eq(job.count, 0);
	state.nvlink_errors = 100;
	state.at_ns += 1000000000;
	add_state(&state);
	cr_expect(strstr(small_job_last(&job)->text, "NVLink errors"), "%s", small_job_last(&job)->text);
}

static void use(int64_t mebibytes, double second)
{
	struct analysis_gpu_state state = small_job_state(1, second);

	state.memory_used = mebibytes << 20;
	add_state(&state);
}

Test(gpu_finding, a_full_memory_that_is_freed_again_and_again_is_told)
{
	for (int i = 0; i < 3; i++) {
		use(16000, 1001 + i * 5);
		cr_expect_eq(job.count, 0);
		use(14000, 1003 + i * 5);
	}
	cr_expect_eq(small_job_last(&job)->kind, RW_KIND_MEMORY);
	cr_expect_eq(small_job_last(&job)->class_, RW_CAUSE_MEMORY);
	cr_expect_eq(small_job_last(&job)->rank, 1);
	use(16000, 1100);
	cr_expect_eq(small_job_last(&job)->state, RW_FINDING_CLOSED);
}

Test(gpu_finding, a_memory_that_is_full_or_swings_lower_is_healthy)
{
	for (int i = 0; i < 20; i++) {
		use(16000 - i, 1001 + i * 2);
		use(15900, 1002 + i * 2);
	}
	use(10000, 1050);
	for (int i = 0; i < 20; i++)
		use(i % 2 ? 15000 : 9000, 1060 + i);
	cr_expect_eq(job.count, 0);
}

Test(gpu_finding, nvml_that_does_not_answer_is_a_notice_until_it_does)
{
	analysis_set_gpu_silence(job.analysis, UINT64_C(1001000000000));
	small_job_tick(&job, 1030);
	cr_expect_eq(job.count, 0);
	small_job_tick(&job, 1031);
	cr_expect_eq(small_job_last(&job)->kind, RW_KIND_GPU);
	cr_expect_eq(small_job_last(&job)->scope, RW_SCOPE_HOST);
	cr_expect_eq(small_job_last(&job)->severity, RW_NOTICE);
	cr_expect(strstr(small_job_last(&job)->text, "NVML has not answered for 30 s"), "%s",
		  small_job_last(&job)->text);
	analysis_set_gpu_silence(job.analysis, 0);
	small_job_tick(&job, 1033);
	cr_expect_eq(small_job_last(&job)->state, RW_FINDING_CLOSED);
}

Test(gpu_finding, a_gpu_without_address_is_refused)
{
	struct analysis_gpu_state state = small_job_state(1, 1001);
	struct analysis_gpu_event event = small_job_event(1, 1001, 79);

	snprintf(state.pci, sizeof(state.pci), "none");
	snprintf(event.pci, sizeof(event.pci), "zz:1:2");
	cr_expect_eq(analysis_add_gpu_state(job.analysis, &state), -EINVAL);
	cr_expect_eq(analysis_add_gpu_event(job.analysis, &event), -EINVAL);
}
