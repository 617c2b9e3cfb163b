/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "analysis/network/transfer.h"
#include "tests/unit/analysis/jobs/played.h"
#include "tests/unit/analysis/jobs/seeds.h"

static const struct history_job two_hosts = {
	.ranks = 8, .steps = 40, .layers = 4, .compute_ms = 40, .jitter_ms = 2, .hosts = 2, .tail_ms = 3000
};

Test(transfer, slower_operations_between_hosts_while_nobody_is_late_are_told_as_such)
{
	struct history_job job = two_hosts;
	job.faults[0] = (struct history_fault){ .kind = FAULT_TRANSFER, .first_step = 20, .ms = 30 };
	struct played run = play(&job);
	cr_assert_gt(run.count, 0);
	const struct history_finding *first = &run.findings[0];
	cr_expect_eq(first->kind, RW_KIND_SLOWDOWN);
	cr_expect_eq(first->late_kind, RW_LATE_TRANSFER);
	cr_expect_eq(first->scope, RW_SCOPE_JOB);
	cr_expect_eq(first->confidence, RW_LIKELY);
	cr_expect_eq(first->since_step, 20, "since step %ld", first->since_step);
	/* 13 operations a step, each 29 ms longer, seen in steps of 2 ms */
	cr_expect(first->lost_ms > 300 && first->lost_ms < 430, "%f", first->lost_ms);
	cr_expect(strstr(first->text, "transfers on ~fsdp take ") == first->text, "%s", first->text);
	/* Below that they are not measured, and not said to take no time. */
	cr_expect(strstr(first->text, " a step instead of less than 4 ms each, since step 20;"), "%s", first->text);
	for (size_t i = 0; i < run.count; i++)
		cr_expect_eq(run.findings[i].kind, RW_KIND_SLOWDOWN, "%s", run.findings[i].text);
	end(&run);
}

/* Ranks whose calls do not meet wait for that. */
Test(transfer, after_calls_have_differed_is_no_finding_of_its_own)
{
	struct history_job job = two_hosts;
	job.faults[0] = (struct history_fault){ .kind = FAULT_COUNT, .rank = 3, .first_step = 20, .last_step = 20 };
	job.faults[1] = (struct history_fault){ .kind = FAULT_TRANSFER, .first_step = 20, .ms = 30 };
	struct played run = play(&job);
	cr_assert_eq(run.count, 1);
	cr_expect_eq(run.findings[0].kind, RW_KIND_DESYNC, "%s", run.findings[0].text);
	cr_expect_eq(run.findings[0].rank, 3);
	end(&run);
}

/* Until all ranks have come, no part of an AlltoAll ends: two ranks that were in time wait for a third in what they
 * send each other. */
Test(transfer, who_waits_in_an_exchange_for_a_third_rank_has_no_slow_transfers)
{
	for (unsigned seed = 0; seed < seeds(24); seed += 4) {
		struct history_job job = { .ranks = 16,
					   .steps = 100,
					   .layers = 1,
					   .compute_ms = 80,
					   .jitter_ms = 2,
					   .tail_chance = 0.02,
					   .stall_ms = 60,
					   .expert_parallel = 8,
					   .seed = seed };
		job.faults[0] = (struct history_fault){ .kind = FAULT_ALL, .first_step = 20, .ms = 700, .every = 20 };
		struct played run = play(&job);
		for (size_t i = 0; i < run.count; i++)
			cr_expect_neq(run.findings[i].kind, RW_KIND_SLOWDOWN, "seed %u: %s", seed, run.findings[i].text);
		end(&run);
	}
}

/* However many parts it has. */
Test(transfer, an_exchange_takes_its_time_once)
{
	for (int hosts = 1; hosts <= 2; hosts++) {
		struct history_job job = two_hosts;
		job.hosts = hosts;
		job.expert_parallel = 4;
		job.faults[0] = (struct history_fault){ .kind = FAULT_TRANSFER, .first_step = 20, .ms = 30 };
		struct played run = play(&job);
		cr_assert_gt(run.count, 0, "%d hosts", hosts);
		cr_expect_eq(run.findings[0].kind, RW_KIND_SLOWDOWN, "%d hosts: %s", hosts, run.findings[0].text);
		/* 8 exchanges a step, each 29 ms longer */
		cr_expect(run.findings[0].lost_ms > 200 && run.findings[0].lost_ms < 260, "%d hosts: %f", hosts,
			  run.findings[0].lost_ms);
		end(&run);
	}
}

/* Three slow steps open it when the fourth has begun, of which only the first operation may be known then. */
Test(transfer, the_slowest_operation_is_one_of_the_last_whole_step)
{
	for (unsigned seed = 0; seed < 8; seed++) {
		struct history_job job = two_hosts;
		job.seed = seed;
		job.faults[0] = (struct history_fault){ .kind = FAULT_TRANSFER, .first_step = 20, .ms = 30 };
		struct played run = play(&job);
		cr_assert_gt(run.count, 0);
		cr_expect_eq(run.findings[0].step, run.findings[0].since_step + TRANSFER_IN_A_ROW - 1,
			     "seed %u: step %ld", seed, run.findings[0].step);
		end(&run);
	}
}

/* From here, a rank of another host that comes late looks the same. */
Test(transfer, of_ranks_that_are_not_seen_nobody_knows_whether_they_come_late)
{
	struct history_job job = two_hosts;
	job.seen = 4;
	job.faults[0] = (struct history_fault){ .kind = FAULT_TRANSFER, .first_step = 20, .ms = 30 };
	struct played run = play(&job);
	cr_assert_gt(run.count, 0);
	cr_expect_eq(run.findings[0].kind, RW_KIND_SLOWDOWN);
	cr_expect_eq(run.findings[0].confidence, RW_INCONCLUSIVE);
	cr_expect(strstr(run.findings[0].text, "; no seen rank comes late, but one that is not seen may"), "%s",
		  run.findings[0].text);
	end(&run);
}

Test(transfer, closes_when_the_network_is_as_before)
{
	struct history_job job = two_hosts;
	job.steps = 60;
	job.faults[0] = (struct history_fault){ .kind = FAULT_TRANSFER, .first_step = 20, .last_step = 35, .ms = 30 };
	struct played run = play(&job);
	cr_assert_gt(run.count, 1);
	cr_expect_eq(run.findings[run.count - 1].state, RW_FINDING_CLOSED);
	end(&run);
}

/* Operations take longer, and what is beside them takes that much less: as if computation hid them. */
static struct played play_hidden(int until)
{
	struct history_job job = two_hosts;

	job.steps = 64;
	job.faults[0] = (struct history_fault){ .kind = FAULT_TRANSFER, .first_step = 20, .ms = 30 };
	job.faults[1] = (struct history_fault){ .kind = FAULT_ALL, .first_step = 1, .last_step = 19, .ms = 370 };
	job.faults[2] = (struct history_fault){ .kind = FAULT_ALL, .first_step = until, .ms = 370 };
	return play(&job);
}

Test(transfer, where_steps_take_hardly_longer_it_is_a_notice)
{
	struct played run = play_hidden(1000);

	cr_assert_gt(run.count, 0);
	for (size_t i = 0; i < run.count; i++) {
		cr_expect_eq(run.findings[i].kind, RW_KIND_SLOWDOWN);
		cr_expect_eq(run.findings[i].severity, RW_NOTICE, "%s", run.findings[i].text);
		cr_expect_lt(run.findings[i].lost_ms, 20, "%f", run.findings[i].lost_ms);
		cr_expect(strstr(run.findings[i].text, "since step 20, and steps take hardly longer; no rank is late"),
			  "%s", run.findings[i].text);
	}
	end(&run);
}

Test(transfer, where_steps_become_longer_later_the_notice_becomes_a_warning)
{
	struct played run = play_hidden(28);

	cr_assert_gt(run.count, 1);
	cr_expect_eq(run.findings[0].severity, RW_NOTICE, "%s", run.findings[0].text);
	const struct history_finding *last = &run.findings[run.count - 1];
	cr_expect_eq(last->severity, RW_WARNING, "%s", last->text);
	cr_expect(last->lost_ms > 300 && last->lost_ms < 430, "%f", last->lost_ms);
	cr_expect(strstr(last->text, "since step 20; no rank is late"), "%s", last->text);
	for (size_t i = 1; i < run.count; i++)
		cr_expect_geq(run.findings[i].severity, run.findings[i - 1].severity, "once, and not back and forth");
	end(&run);
}

Test(transfer, for_a_few_steps_it_is_no_finding)
{
	for (int hosts = 1; hosts <= 2; hosts++) {
		struct history_job job = two_hosts;
		job.hosts = hosts;
		job.faults[0] = (struct history_fault){ .kind = FAULT_TRANSFER, .first_step = 20, .last_step = 21, .ms = 30 };
		struct played run = play(&job);
		cr_expect_eq(run.count, 0);
		end(&run);
	}
}

/* A link between GPUs, or a GPU that other kernels fill. */
Test(transfer, within_one_host_nobody_knows_what_it_is)
{
	struct history_job job = two_hosts;
	struct analysis_detail details[8];
	job.hosts = 1;
	job.faults[0] = (struct history_fault){ .kind = FAULT_TRANSFER, .first_step = 20, .ms = 30 };
	struct played run = play(&job);
	cr_assert_gt(run.count, 0);
	cr_expect_eq(run.findings[0].kind, RW_KIND_SLOWDOWN);
	cr_expect_eq(run.findings[0].confidence, RW_INCONCLUSIVE);
	cr_expect_eq(run.findings[0].scope, RW_SCOPE_JOB);
	cr_expect(strstr(run.findings[0].text, "operations on ~fsdp take ") == run.findings[0].text, "%s",
		  run.findings[0].text);
	cr_expect(strstr(run.findings[0].missing, "RANKWATCH_KERNELCH=1 shows"), "%s", run.findings[0].missing);
	cr_expect(strstr(run.findings[0].advice, "RANKWATCH_KERNELCH=1"), "%s", run.findings[0].advice);
	cr_expect_eq(analysis_wanted_details(run.analysis, details, 8), 0, "no proxy thread moves data within a host");
	end(&run);
}

Test(transfer, a_rank_that_is_late_is_a_straggler_and_no_slow_network)
{
	for (unsigned seed = 0; seed < 20; seed++) {
		struct history_job job = two_hosts;
		job.seed = seed;
		job.faults[0] = (struct history_fault){ .kind = seed % 2 ? FAULT_HOST : FAULT_DEVICE,
							.rank = 5,
							.first_step = 15,
							.ms = 300 };
		struct played run = play(&job);
		cr_assert_gt(run.count, 0);
		for (size_t i = 0; i < run.count; i++)
			cr_expect_eq(run.findings[i].kind, RW_KIND_STRAGGLER, "%s", run.findings[i].text);
		end(&run);
	}
}

Test(transfer, healthy_jobs_on_several_hosts_are_silent)
{
	for (unsigned seed = 0; seed < seeds(200); seed++) {
		struct history_job job = two_hosts;
		job.seed = seed;
		job.jitter_ms = seed % 5 * 4;
		job.runs_ahead = seed % 2;
		job.tensor_parallel = seed % 3 ? 0 : 2;
		job.stall_chance = seed % 7 ? 0 : 0.05;
		job.stall_ms = 300;
		struct played run = play(&job);
		cr_expect_eq(run.count, 0, "seed %u: %s", seed, run.count ? run.findings[0].text : "");
		end(&run);
	}
}
