/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/analysis/jobs/history.h"
#include "tests/unit/analysis/jobs/seeds.h"

static const struct history_job eight = {
	.ranks = 8, .steps = 30, .layers = 4, .compute_ms = 40, .jitter_ms = 2, .tail_ms = 8000
};

struct run {
	struct history *history;
	struct analysis *analysis;
	const struct history_finding *findings;
	size_t count;
};

static struct run play_until(const struct history_job *job, bool post_mortem, double until_ms)
{
	struct run run = { .history = history_new(job) };
	run.analysis = analysis_new(post_mortem, history_emit, run.history);
	cr_assert(run.analysis);
	history_play(run.history, run.analysis, until_ms);
	run.findings = history_findings(run.history, &run.count);
	return run;
}

static void end(struct run *run)
{
	analysis_free(run->analysis);
	history_free(run->history);
}

static const struct history_finding *first_of(const struct run *run, enum rw_severity severity)
{
	for (size_t i = 0; i < run->count; i++)
		if (run->findings[i].severity == severity)
			return &run->findings[i];
	return NULL;
}

static const struct history_finding *loudest(const struct run *run)
{
	return first_of(run, RW_CRITICAL);
}

Test(hang, and_gone_are_named_within_five_seconds)
{
	static const struct {
		enum history_fault_kind fault;
		enum history_evidence evidence;
		enum rw_kind kind;
		enum rw_cause_class class_;
		const char *text, *cause;
	} cases[] = {
		{ FAULT_NEVER, EVIDENCE_SLEEP, RW_KIND_HANG, RW_CAUSE_SLEEP, "rank 5 has not joined AllGather #",
		  "clock_nanosleep(2)" },
		{ FAULT_STOPPED, EVIDENCE_NOTHING, RW_KIND_GONE, RW_CAUSE_STOPPED,
		  "rank 5 was stopped: ranks 0-4,6,7 wait for it in AllGather #",
		  "stopped by a signal, a debugger or the freezer" },
		{ FAULT_KILLED, EVIDENCE_NOTHING, RW_KIND_GONE, RW_CAUSE_GONE,
		  "rank 5 was killed by signal 9: ranks 0-4,6,7 wait for it in AllGather #", "killed by signal 9" },
		{ FAULT_EXITED, EVIDENCE_NOTHING, RW_KIND_GONE, RW_CAUSE_GONE,
		  "rank 5 exited with status 3: ranks 0-4,6,7 wait for it in AllGather #", "exited with status 3" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct history_job job = eight;
		job.faults[0] = (struct history_fault){
			.kind = cases[i].fault, .rank = 5, .first_step = 12, .evidence = cases[i].evidence
		};
		struct run run = play_until(&job, false, 0);
		const struct history_finding *finding = loudest(&run);
		cr_assert(finding, "case %zu", i);
		cr_expect_eq(finding->kind, cases[i].kind, "case %zu", i);
		cr_expect_eq(finding->rank, 5, "case %zu: rank %d", i, finding->rank);
		cr_expect_eq(finding->class_, cases[i].class_, "case %zu: class %d", i, finding->class_);
		cr_expect(strstr(finding->text, cases[i].text), "case %zu: %s", i, finding->text);
		cr_expect_str_eq(finding->cause_text, cases[i].cause, "case %zu: %s", i, finding->cause_text);
		cr_expect_eq(finding->waiting_count, 7, "case %zu", i);
		cr_expect_gt(finding->left_ms, 90000, "case %zu", i);
		double after_ms = (double)finding->time_ns / 1e6 - history_struck_ms(run.history);
		cr_expect(after_ms > 900 && after_ms < 5000, "case %zu: %f ms after the fault", i, after_ms);
		for (size_t k = 0; k < run.count; k++)
			cr_expect_eq(run.findings[k].rank, 5, "case %zu: %s", i, run.findings[k].text);
		end(&run);
	}
}

/* In a long row of small operations most have no GPU progress: the host tells who has not come, as soon. */
Test(hang, and_gone_are_named_as_soon_where_progress_is_sampled)
{
	static const struct {
		enum history_fault_kind fault;
		enum history_evidence evidence;
		enum rw_kind kind;
		enum rw_confidence confidence;
	} cases[] = {
		{ FAULT_NEVER, EVIDENCE_SLEEP, RW_KIND_HANG, RW_LIKELY },
		{ FAULT_STOPPED, EVIDENCE_NOTHING, RW_KIND_GONE, RW_CERTAIN },
		{ FAULT_KILLED, EVIDENCE_NOTHING, RW_KIND_GONE, RW_CERTAIN },
		{ FAULT_EXITED, EVIDENCE_NOTHING, RW_KIND_GONE, RW_CERTAIN },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct history_job job = eight;
		job.sampled = 64; /* hardly any in such a history: none at the end */
		job.faults[0] = (struct history_fault){
			.kind = cases[i].fault, .rank = 5, .first_step = 12, .evidence = cases[i].evidence
		};
		struct run run = play_until(&job, false, 0);
		const struct history_finding *finding = loudest(&run);
		cr_assert(finding, "case %zu", i);
		cr_expect_eq(finding->kind, cases[i].kind, "case %zu", i);
		cr_expect_eq(finding->rank, 5, "case %zu: rank %d", i, finding->rank);
		cr_expect_eq(finding->confidence, cases[i].confidence, "case %zu", i);
		double after_ms = (double)finding->time_ns / 1e6 - history_struck_ms(run.history);
		cr_expect(after_ms > 900 && after_ms < 5000, "case %zu: %f ms after the fault", i, after_ms);
		for (size_t k = 0; k < run.count; k++)
			cr_expect_eq(run.findings[k].rank, 5, "case %zu: %s", i, run.findings[k].text);
		end(&run);
	}
}

/* Which rank's GPU it is may then not be known; another one must not be named. */
Test(hang, a_gpu_that_is_stuck_where_progress_is_sampled_has_nobody_else_named)
{
	static const int sampled[] = { 2, 4, 16, 64 };
	static const enum history_evidence evidence[] = { EVIDENCE_BUSY, EVIDENCE_POLL };
	for (size_t i = 0; i < 2 * sizeof(sampled) / sizeof(*sampled); i++) {
		struct history_job job = eight;
		job.sampled = sampled[i / 2];
		job.runs_ahead = i % 3 == 0;
		job.faults[0] = (struct history_fault){
			.kind = FAULT_GPU_STUCK, .rank = 5, .first_step = 12, .evidence = evidence[i % 2]
		};
		struct run run = play_until(&job, false, 0);
		for (size_t k = 0; k < run.count; k++)
			cr_expect_eq(run.findings[k].rank, 5, "1 in %d: %s", job.sampled, run.findings[k].text);
		end(&run);
	}
}

/* The GPUs stand in operations that nobody follows, for the sake of rank 5; after a pause rank 2 has GPU progress for
 * one that its host launched behind them. */
Test(hang, a_rank_whose_gpu_may_stand_in_an_operation_before_is_not_named)
{
	for (int stops = 0; stops < 2; stops++)
		for (int sampled = 4; sampled <= 64; sampled *= 4) {
			struct history_job job = eight;
			job.sampled = sampled;
			job.paused = 1u << 2;
			job.faults[0] = (struct history_fault){ .kind = FAULT_GPU_STUCK, .rank = 5, .first_step = 12 };
			struct run run = { .history = history_new(&job) };
			run.analysis = analysis_new(false, history_emit, run.history);
			double struck_ms = history_struck_ms(run.history);
			history_play(run.history, run.analysis, struck_ms + 100);
			if (stops)
				analysis_set_life(run.analysis, 105, ANALYSIS_STOPPED, -1, (uint64_t)((struck_ms + 100) * 1e6));
			history_play(run.history, run.analysis, 0);
			run.findings = history_findings(run.history, &run.count);
			for (size_t k = 0; k < run.count; k++)
				cr_expect_eq(run.findings[k].rank, 5, "1 in %d: %s", sampled, run.findings[k].text);
			cr_expect(!stops || loudest(&run), "1 in %d", sampled);
			end(&run);
		}
}

/* All hosts have launched the step; the GPUs stand in an operation without progress, before one that has it. */
static struct history_job stuck_before_it(int sampled, int dead, double after_ms)
{
	struct history_job job = eight;
	job.sampled = sampled;
	job.tail_ms = 30000;
	job.faults[0] = (struct history_fault){ .kind = FAULT_GPU_STUCK, .rank = 5, .first_step = 12 };
	job.faults[1] = (struct history_fault){ .kind = FAULT_DIES, .rank = dead, .first_step = 12, .ms = after_ms };
	return job;
}

Test(hang, a_killed_rank_is_named_where_nobody_is_seen_to_have_come_to_the_operation)
{
	for (int sampled = 2; sampled <= 16; sampled *= 2) {
		struct history_job job = stuck_before_it(sampled, 5, 200);
		struct run run = play_until(&job, false, 0);
		const struct history_finding *finding = loudest(&run);
		cr_assert(finding, "1 in %d", sampled);
		cr_expect_eq(finding->kind, RW_KIND_GONE, "1 in %d: %s", sampled, finding->text);
		cr_expect_eq(finding->rank, 5, "1 in %d: rank %d", sampled, finding->rank);
		double after_ms = (double)finding->time_ns / 1e6 - history_struck_ms(run.history);
		cr_expect(after_ms < 2500, "1 in %d: %f ms after its end", sampled, after_ms);
		end(&run);
	}
}

/* A watchdog, a launcher or a user has ended it. */
Test(hang, a_rank_that_ends_long_after_all_stood_still_is_not_named)
{
	for (int sampled = 2; sampled <= 16; sampled *= 2) {
		struct history_job job = stuck_before_it(sampled, 2, 20000);
		struct run run = play_until(&job, false, 0);
		for (size_t k = 0; k < run.count; k++)
			cr_expect_neq(run.findings[k].rank, 2, "1 in %d: %s", sampled, run.findings[k].text);
		end(&run);
	}
}

/* Rank 2's host waits for its GPU, which waits for rank 5's; the others' hosts have called what rank 2 has not. */
Test(hang, a_host_that_waits_for_its_gpu_is_not_late_where_progress_is_sampled)
{
	static const int sampled[] = { 0, 2, 4, 8 };
	for (size_t i = 0; i < sizeof(sampled) / sizeof(*sampled); i += SANITIZED ? 3 : 1) {
		struct history_job job = eight;
		job.sampled = sampled[i];
		job.runs_ahead = true;
		job.faults[0] = (struct history_fault){ .kind = FAULT_GPU_STUCK, .rank = 5, .first_step = 12,
							.evidence = EVIDENCE_BUSY };
		job.faults[1] = (struct history_fault){ .kind = FAULT_HOST, .rank = 2, .first_step = 13, .ms = 60000,
							.evidence = EVIDENCE_BUSY };
		struct run run = play_until(&job, false, 0);
		for (size_t k = 0; k < run.count; k++)
			cr_expect_neq(run.findings[k].rank, 2, "1 in %d: %s", job.sampled, run.findings[k].text);
		end(&run);
	}
}

Test(hang, a_stopped_rank_is_named_in_seconds_before_any_step_is_known)
{
	struct history_job job = eight;
	job.tail_ms = 8000;
	job.faults[0] = (struct history_fault){ .kind = FAULT_STOPPED, .rank = 5, .first_step = 1 };
	struct run run = play_until(&job, false, 0);
	const struct history_finding *finding = loudest(&run);
	cr_assert(finding);
	cr_expect_eq(finding->rank, 5);
	cr_expect_eq(finding->class_, RW_CAUSE_STOPPED);
	cr_expect_lt((double)finding->time_ns / 1e6 - history_struck_ms(run.history), 4000);
	end(&run);
}

Test(hang, a_rank_that_was_only_noted_is_named_when_it_is_seen_to_be_stopped)
{
	struct history_job job = eight;
	job.faults[0] =
	    (struct history_fault){ .kind = FAULT_NEVER, .rank = 2, .first_step = 12, .evidence = EVIDENCE_BUSY };
	struct run run = { .history = history_new(&job) };
	run.analysis = analysis_new(false, history_emit, run.history);
	double struck_ms = history_struck_ms(run.history);
	history_play(run.history, run.analysis, struck_ms + 5000);
	analysis_set_life(run.analysis, 102, ANALYSIS_STOPPED, -1, (uint64_t)((struck_ms + 5000) * 1e6));
	history_play(run.history, run.analysis, 0);
	run.findings = history_findings(run.history, &run.count);
	cr_assert_gt(run.count, 2);
	cr_expect_eq(run.findings[0].severity, RW_NOTICE);
	const struct history_finding *finding = loudest(&run);
	cr_assert(finding);
	cr_expect_eq(finding->kind, RW_KIND_GONE);
	cr_expect_eq(finding->rank, 2);
	cr_expect_eq(finding->class_, RW_CAUSE_STOPPED);
	end(&run);
}

/* As when a scheduler stopped the job and the collector, and lets one process after the other go on. */
Test(hang, what_was_waited_for_before_the_caller_went_on_does_not_count)
{
	struct history_job job = eight;
	job.tail_ms = 9000;
	job.faults[0] = (struct history_fault){ .kind = FAULT_STOPPED, .rank = 5, .first_step = 12 };
	struct run run = { .history = history_new(&job) };
	run.analysis = analysis_new(false, history_emit, run.history);
	double struck_ms = history_struck_ms(run.history);
	history_play(run.history, run.analysis, struck_ms + 2500);
	analysis_resume(run.analysis, (uint64_t)((struck_ms + 2500) * 1e6));
	history_play(run.history, run.analysis, 0);
	run.findings = history_findings(run.history, &run.count);
	const struct history_finding *finding = loudest(&run);
	cr_assert(finding);
	cr_expect_eq(finding->class_, RW_CAUSE_STOPPED);
	cr_expect_geq((double)run.findings[0].time_ns / 1e6, struck_ms + 5500);
	end(&run);
}

/* As when a scheduler stops a whole job and lets it go on: for whom those waited who were stopped themselves does not
 * count. */
Test(hang, who_was_stopped_waits_since_it_went_on)
{
	struct history_job job = eight;
	job.tail_ms = 14000;
	job.faults[0] = (struct history_fault){ .kind = FAULT_STOPPED, .rank = 5, .first_step = 12 };
	struct run run = { .history = history_new(&job) };
	run.analysis = analysis_new(false, history_emit, run.history);
	double struck_ms = history_struck_ms(run.history);
	static const struct {
		enum analysis_life life;
		double at_ms;
	} lives[] = { { ANALYSIS_STOPPED, 1000 }, { ANALYSIS_ALIVE, 8000 } };
	for (size_t i = 0; i < sizeof(lives) / sizeof(*lives); i++) {
		history_play(run.history, run.analysis, struck_ms + lives[i].at_ms);
		for (analysis_process_id id = 100; id < 108; id++)
			if (id != 105)
				analysis_set_life(run.analysis, id, lives[i].life, -1, (uint64_t)((struck_ms + lives[i].at_ms) * 1e6));
	}
	history_play(run.history, run.analysis, 0);
	run.findings = history_findings(run.history, &run.count);
	const struct history_finding *finding = loudest(&run);
	cr_assert(finding);
	cr_expect_eq(finding->class_, RW_CAUSE_STOPPED);
	cr_expect_geq((double)run.findings[0].time_ns / 1e6, struck_ms + 11000);
	end(&run);
}

Test(hang, a_process_is_silent_half_a_second_after_its_last_heartbeat)
{
	struct run run = play_until(&eight, false, 0);
	uint64_t at_ns = UINT64_C(3600000000000);

	cr_expect_not(analysis_is_silent(run.analysis, 102, at_ns), "one without a heartbeat says nothing by that");
	cr_assert_eq(analysis_set_heartbeat(run.analysis, 102, at_ns), 0);
	cr_expect_not(analysis_is_silent(run.analysis, 102, at_ns + 500000000));
	cr_expect(analysis_is_silent(run.analysis, 102, at_ns + 500000001));
	cr_expect_not(analysis_is_silent(run.analysis, 4711, at_ns + 500000001), "nobody knows it");
	end(&run);
}

/* Rank 2 does not come to an operation, and entered the init of another communicator so long after its last one. Is it
 * named? */
static bool is_named(double init_ms)
{
	struct history_job job = eight;
	job.faults[0] = (struct history_fault){ .kind = FAULT_NEVER, .rank = 2, .first_step = 12, .evidence = EVIDENCE_SLEEP };
	struct run run = { .history = history_new(&job) };
	run.analysis = analysis_new(false, history_emit, run.history);
	double struck_ms = history_struck_ms(run.history);
	history_play(run.history, run.analysis, struck_ms + init_ms);
	const struct rw_init init = { .since_ns = (uint64_t)((struck_ms + init_ms) * 1e6), .id = 77, .nranks = 2, .rank = 0 };
	cr_assert_eq(analysis_set_init(run.analysis, 102, &init), 0);
	history_play(run.history, run.analysis, 0);
	run.findings = history_findings(run.history, &run.count);
	bool named = loudest(&run) && loudest(&run)->rank == 2;
	end(&run);
	return named;
}

Test(hang, who_waits_in_the_init_of_another_communicator_is_not_named)
{
	cr_expect_not(is_named(1));
}

/* It has launched operations since: nobody reported that it is out of that init. */
Test(hang, an_init_that_the_rank_has_left_excuses_it_from_nothing)
{
	cr_expect(is_named(-400));
}

Test(hang, a_rank_that_gets_on_is_only_noted_until_it_takes_too_long)
{
	struct history_job job = eight;
	job.tail_ms = 40000;
	job.faults[0] =
	    (struct history_fault){ .kind = FAULT_NEVER, .rank = 2, .first_step = 12, .evidence = EVIDENCE_BUSY };
	struct run run = play_until(&job, false, 0);
	cr_assert_gt(run.count, 1);
	cr_expect_eq(run.findings[0].severity, RW_NOTICE);
	const struct history_finding *finding = loudest(&run);
	cr_assert(finding);
	cr_expect_gt((double)finding->time_ns / 1e6 - history_struck_ms(run.history), 29000);
	cr_expect_eq(finding->class_, RW_CAUSE_RUNNING);
	end(&run);
}

/* Twice a second its child processes are read; they work until some time after the rank was to come. */
static struct run play_with_child(const struct history_job *job, const struct analysis_children *each, double works_ms)
{
	struct run run = { .history = history_new(job) };
	run.analysis = analysis_new(false, history_emit, run.history);
	cr_assert(run.analysis);
	double struck_ms = history_struck_ms(run.history);
	for (double at_ms = 500; at_ms <= job->tail_ms; at_ms += 500) {
		struct analysis_children seen = *each;
		if (at_ms > works_ms)
			seen = (struct analysis_children){ 0 };
		seen.process = 102;
		seen.at_ns = (uint64_t)((struck_ms + at_ms) * 1e6);
		seen.from_ns = seen.at_ns - 500000000;
		history_play(run.history, run.analysis, struck_ms + at_ms);
		cr_assert_eq(analysis_add_children(run.analysis, &seen), 0);
	}
	run.findings = history_findings(run.history, &run.count);
	return run;
}

Test(hang, a_rank_whose_child_processes_work_is_only_noted_as_long_as_they_do)
{
	static const uint64_t ms = 1000000;
	static const struct {
		struct analysis_children each;
		double works_ms, from_ms, to_ms; /* when it is critical */
		const char *text;                /* of the first notice; NULL: it is critical from the first on */
	} cases[] = {
		{ { .cpu_ns = 490 * ms,
		    .busiest = { .pid = 4711, .name = "cc1plus", .is_child = true, .cpu_ns = 490 * ms } },
		  8000,
		  8000,
		  10600,
		  "its child 4711 \"cc1plus\" uses 98 % of a CPU" },
		{ { .cpu_ns = 490 * ms,
		    .busiest = { .pid = 4711, .name = "cc1plus", .is_child = true, .cpu_ns = 490 * ms } },
		  60000,
		  29000,
		  32000,
		  "its child 4711 \"cc1plus\" uses 98 % of a CPU" },
		{ { .cpu_ns = 1900 * ms, .busiest = { .pid = 4711, .name = "cc1plus", .cpu_ns = 495 * ms } },
		  8000,
		  8000,
		  10600,
		  "its child processes use 380 % of a CPU, most of it its descendant 4711 \"cc1plus\"" },
		{ { .cpu_ns = 250 * ms, .busiest = { .cpu_ns = 250 * ms } },
		  8000,
		  8000,
		  10600,
		  "its child processes use 50 % of a CPU; those that used most have ended" },
		{ { .cpu_ns = 5 * ms,
		    .bytes = 8000000,
		    .busiest = { .pid = 4711, .name = "tar", .is_child = true, .cpu_ns = 5 * ms, .bytes = 8000000 } },
		  8000,
		  8000,
		  10600,
		  "its child 4711 \"tar\" reads and writes 16.0 MB a second" },
		{ { .in_disk = true, .busiest = { .pid = 4711, .name = "tar", .is_child = true, .in_disk = true } },
		  8000,
		  8000,
		  10600,
		  "its child 4711 \"tar\" waits for a disk, or for what else cannot be interrupted" },
		/* Heartbeats, and a monitor that reads some counters. */
		{ { .cpu_ns = 20 * ms,
		    .bytes = 50000,
		    .busiest = { .pid = 4711, .name = "monitor", .is_child = true, .cpu_ns = 20 * ms } },
		  60000,
		  2900,
		  3600,
		  NULL },
		{ { .cpu_ns = 0 }, 60000, 2900, 3600, NULL },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i += SANITIZED ? 3 : 1) {
		struct history_job job = eight;
		job.tail_ms = 40000;
		job.faults[0] = (struct history_fault){ .kind = FAULT_NEVER, .rank = 2, .first_step = 12, .evidence = EVIDENCE_PIPE };
		struct run run = play_with_child(&job, &cases[i].each, cases[i].works_ms);
		const struct history_finding *finding = loudest(&run);
		cr_assert(finding && run.count, "case %zu", i);
		double after_ms = (double)finding->time_ns / 1e6 - history_struck_ms(run.history);
		cr_expect(after_ms > cases[i].from_ms && after_ms < cases[i].to_ms, "case %zu: %f ms", i, after_ms);
		cr_expect_eq(finding->rank, 2);
		cr_expect_eq(run.findings[0].severity, cases[i].text ? RW_NOTICE : RW_CRITICAL, "case %zu", i);
		cr_expect_str_eq(run.findings[0].children, cases[i].text ? cases[i].text : "", "case %zu", i);
		end(&run);
	}
}

Test(hang, a_gpu_that_stands_still_is_not_moved_by_child_processes)
{
	const struct analysis_children each = { .cpu_ns = 490000000,
						.busiest = { .pid = 4711, .name = "cc1plus", .cpu_ns = 490000000 } };
	struct history_job job = eight;
	job.faults[0] =
	    (struct history_fault){ .kind = FAULT_ENDLESS, .rank = 2, .first_step = 12, .evidence = EVIDENCE_POLL };
	struct run run = play_with_child(&job, &each, 60000);
	const struct history_finding *finding = loudest(&run);
	cr_assert(finding);
	cr_expect_lt((double)finding->time_ns / 1e6 - history_struck_ms(run.history), 5000);
	cr_expect_eq(finding->class_, RW_CAUSE_GPU);
	cr_expect_str_empty(finding->children);
	end(&run);
}

/* Its own watchdog has not begun: it is those of the others that end the job. */
Test(hang, a_rank_that_gets_on_is_named_before_the_watchdogs_of_those_who_wait_end_the_job)
{
	static const struct {
		double own_ms, others_ms, shortest_ms; /* of one of the others; 0 as the others' */
		double at_ms, until_ms;
	} cases[] = {
		{ 600000, 100000, 0, 29000, 32000 },
		{ 600000, 600000, 100000, 29000, 32000 },
		{ 600000, -1, 0, 149000, 152000 },
		{ 100000, 600000, 0, 149000, 152000 },
		/* A short one ends the job before the 30 s are over: half of it is left to tell. */
		{ 600000, 25000, 0, 12000, 14000 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i += SANITIZED ? 3 : 1) {
		struct history_job job = eight;
		job.tail_ms = 170000;
		for (int rank = 0; rank < 8; rank++)
			job.watchdog_ms[rank] = rank == 2 ? cases[i].own_ms : cases[i].others_ms;
		if (cases[i].shortest_ms > 0)
			job.watchdog_ms[6] = cases[i].shortest_ms;
		job.faults[0] = (struct history_fault){
			.kind = FAULT_NEVER, .rank = 2, .first_step = 12, .evidence = EVIDENCE_BUSY
		};
		struct run run = play_until(&job, false, 0);
		const struct history_finding *finding = loudest(&run);
		cr_assert(finding, "case %zu", i);
		double after_ms = (double)finding->time_ns / 1e6 - history_struck_ms(run.history);
		cr_expect(after_ms > cases[i].at_ms && after_ms < cases[i].until_ms, "case %zu: %f ms", i, after_ms);
		cr_expect_eq(finding->rank, 2);
		cr_expect_eq(finding->class_, RW_CAUSE_RUNNING);
		end(&run);
	}
}

/* A data service that is slow now and then is slow once more. Of a pipe another process of the job has the other end.
 */
Test(hang, a_wait_on_a_socket_that_has_ended_by_itself_before_is_not_critical_after_three_seconds)
{
	static const struct {
		enum history_evidence evidence;
		bool before, noted;
	} cases[] = { { EVIDENCE_SOCKET, true, true },
		      { EVIDENCE_SOCKET, false, false },
		      { EVIDENCE_PIPE, true, false },
		      { EVIDENCE_SLEEP, true, false } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct history_job job = eight;
		job.tail_ms = 40000;
		job.faults[0] = (struct history_fault){
			.kind = FAULT_NEVER, .rank = 2, .first_step = 12, .evidence = cases[i].evidence
		};
		if (cases[i].before)
			job.faults[1] = (struct history_fault){
				.kind = FAULT_HOST, .rank = 2, .first_step = 8, .last_step = 8, .ms = 400, .evidence = cases[i].evidence
			};
		struct run run = play_until(&job, false, 0);
		const struct history_finding *finding = loudest(&run);
		cr_assert(finding, "case %zu", i);
		double after_ms = (double)finding->time_ns / 1e6 - history_struck_ms(run.history);
		cr_expect(cases[i].noted ? after_ms > 29000 : after_ms < 5000, "case %zu: %f ms", i, after_ms);
		cr_expect_eq(finding->rank, 2, "case %zu", i);
		cr_expect_eq(run.findings[0].severity, cases[i].noted ? RW_NOTICE : RW_CRITICAL, "case %zu", i);
		cr_expect_eq(run.findings[0].kind, RW_KIND_HANG, "case %zu", i);
		if (cases[i].noted) {
			cr_expect_eq(finding->class_, RW_CAUSE_SOCKET);
			cr_expect_eq(finding->confidence, RW_LIKELY);
			cr_expect_eq(run.findings[0].missing_count, 2, "who ends it, and that an earlier one ended by itself");
		}
		end(&run);
	}
}

/* A spinning host burns a processor, a blocking one sleeps: neither is progress while its GPU stands still. What its
 * GPU runs nobody sees: it may be a long kernel, until it takes too long. */
Test(hang, a_gpu_that_stands_still_is_named_in_seconds_however_its_host_waits)
{
	static const enum history_evidence evidence[] = { EVIDENCE_BUSY, EVIDENCE_POLL, EVIDENCE_RUN_QUEUE };
	for (size_t i = 0; i < sizeof(evidence) / sizeof(*evidence); i++) {
		struct history_job job = eight;
		job.tail_ms = 40000;
		job.faults[0] = (struct history_fault){
			.kind = FAULT_GPU_STUCK, .rank = 5, .first_step = 12, .evidence = evidence[i]
		};
		struct run run = play_until(&job, false, 0);
		const struct history_finding *finding = loudest(&run), *warning = first_of(&run, RW_WARNING);
		cr_assert(finding && warning, "case %zu", i);
		cr_expect_eq(finding->kind, RW_KIND_HANG);
		cr_expect_eq(finding->rank, 5, "case %zu: rank %d", i, finding->rank);
		cr_expect_eq(finding->class_, RW_CAUSE_GPU, "case %zu: class %d", i, finding->class_);
		cr_expect_eq(finding->phase, RW_PHASE_LAUNCHED);
		cr_expect_eq(finding->confidence, RW_LIKELY);
		cr_expect(strstr(finding->text, "rank 5 has launched but not started AllGather #"), "%s", finding->text);
		double noted_ms = (double)run.findings[0].time_ns / 1e6 - history_struck_ms(run.history);
		cr_expect_eq(run.findings[0].severity, RW_NOTICE);
		cr_expect(noted_ms > 900 && noted_ms < 6000, "case %zu: %f ms after the fault", i, noted_ms);
		double warned_ms = (double)warning->time_ns / 1e6 - history_struck_ms(run.history);
		cr_expect(warned_ms > 9900 && warned_ms < 12000, "case %zu: %f ms after the fault", i, warned_ms);
		double after_ms = (double)finding->time_ns / 1e6 - history_struck_ms(run.history);
		cr_expect(after_ms > 29000 && after_ms < 34000, "case %zu: %f ms after the fault", i, after_ms);
		for (size_t k = 0; k < run.count; k++)
			cr_expect_eq(run.findings[k].rank, 5, "case %zu: %s", i, run.findings[k].text);
		end(&run);
	}
}

/* A validation, or a compilation on the GPU: the host has launched the next operation behind it, or waits for its GPU
 * before. */
Test(hang, a_long_kernel_is_only_noted)
{
	static const enum history_evidence evidence[] = { EVIDENCE_BUSY, EVIDENCE_POLL };
	static const enum history_fault_kind kinds[] = { FAULT_KERNEL, FAULT_HOST };
	for (size_t i = 0; i < 2 * sizeof(kinds) / sizeof(*kinds); i++) {
		struct history_job job = eight;
		job.faults[0] = (struct history_fault){ .kind = kinds[i / 2], .rank = 5, .first_step = 12, .last_step = 12,
							.ms = 9000, .evidence = evidence[i % 2] };
		struct run run = play_until(&job, false, 0);
		cr_expect_null(loudest(&run), "case %zu: %s", i, run.count ? run.findings[0].text : "");
		cr_expect_null(first_of(&run, RW_WARNING), "case %zu", i);
		bool noted = false;
		for (size_t k = 0; k < run.count; k++)
			noted |= run.findings[k].kind == RW_KIND_HANG && run.findings[k].rank == 5;
		cr_expect(noted, "case %zu", i);
		end(&run);
	}
}

/* Work in a file may be what its GPU waits for, through a function that the driver calls on the host. */
Test(hang, a_gpu_that_stands_still_while_the_host_is_in_a_file_is_only_noted_at_first)
{
	struct history_job job = eight;
	job.faults[0] = (struct history_fault){
		.kind = FAULT_GPU_STUCK, .rank = 5, .first_step = 12, .evidence = EVIDENCE_FSYNC_WRITER
	};
	struct run run = play_until(&job, false, 0);
	cr_assert_gt(run.count, 0);
	cr_expect_null(loudest(&run));
	cr_expect_eq(run.findings[0].rank, 5);
	cr_expect_neq(run.findings[0].class_, RW_CAUSE_GPU);
	end(&run);
}

Test(hang, a_rank_that_nobody_looked_at_is_named_with_doubt)
{
	struct history_job job = eight;
	job.tail_ms = 40000;
	job.faults[0] = (struct history_fault){ .kind = FAULT_NEVER, .rank = 2, .first_step = 12 };
	struct run run = play_until(&job, false, 0);
	const struct history_finding *finding = loudest(&run);
	cr_assert(finding);
	cr_expect_eq(finding->rank, 2);
	cr_expect_eq(finding->confidence, RW_LIKELY);
	cr_expect_gt(finding->missing_count, 0);
	end(&run);
}

Test(hang, names_the_root_and_not_those_that_wait_for_it_elsewhere)
{
	for (int rank = 0; rank < 8; rank++) {
		struct history_job job = eight;
		job.tensor_parallel = 2;
		job.faults[0] = (struct history_fault){ .kind = rank % 2 ? FAULT_NEVER : FAULT_KILLED,
							.rank = rank,
							.first_step = 12,
							.evidence = EVIDENCE_SLEEP };
		struct run run = play_until(&job, false, 0);
		cr_assert(loudest(&run), "rank %d", rank);
		for (size_t i = 0; i < run.count; i++)
			cr_expect_eq(run.findings[i].rank, rank, "%s", run.findings[i].text);
		end(&run);
	}
}

/* Rank 5 of the second host is killed, or exits; the followers leave so much later. */
static struct run play_with_followers(bool killed, int first_follower, int last_follower, double after_ms)
{
	struct history_job job = eight;
	job.hosts = 2;
	job.faults[0] =
	    (struct history_fault){ .kind = killed ? FAULT_KILLED : FAULT_EXITED, .rank = 5, .first_step = 12 };
	struct run run = { .history = history_new(&job) };
	run.analysis = analysis_new(false, history_emit, run.history);
	double at_ms = history_struck_ms(run.history) + 50 + after_ms;
	history_play(run.history, run.analysis, at_ms);
	for (int rank = first_follower; rank <= last_follower; rank++)
		cr_assert_eq(analysis_set_life(run.analysis, (analysis_process_id)rank + 100, ANALYSIS_EXITED, 1 << 8,
					       (uint64_t)(at_ms * 1e6)), 0);
	history_play(run.history, run.analysis, 0);
	run.findings = history_findings(run.history, &run.count);
	return run;
}

/* ncclRemoteError: the connections of a rank that has died break. */
Test(hang, a_rank_that_leaves_because_its_peer_on_another_host_died_is_not_named_beside_it)
{
	for (int killed = 0; killed < 2; killed++)
		for (double after_ms = 0; after_ms < 800; after_ms += 100) {
			struct run run = play_with_followers(killed, 1, 2, after_ms);
			cr_assert(loudest(&run), "%.0f ms", after_ms);
			cr_expect_eq(loudest(&run)->kind, RW_KIND_GONE);
			for (size_t i = 0; i < run.count; i++)
				cr_expect_eq(run.findings[i].rank, 5, "%.0f ms: %s", after_ms, run.findings[i].text);
			end(&run);
		}
}

Test(hang, a_rank_that_leaves_beside_another_of_its_own_host_is_named_too)
{
	struct run run = play_with_followers(true, 6, 6, 100);
	bool named = false;
	for (size_t i = 0; i < run.count; i++)
		named |= run.findings[i].rank == 6;
	cr_expect(named, "nothing between them could break");
	end(&run);
}

Test(hang, a_job_that_ends_as_a_whole_has_lost_nobody)
{
	struct history_job job = eight;
	for (int i = 0; i < 8; i++)
		job.faults[i] =
		    (struct history_fault){ .kind = i % 2 ? FAULT_KILLED : FAULT_EXITED, .rank = i, .first_step = 20 };
	struct run run = play_until(&job, false, 0);
	cr_expect_eq(run.count, 0);
	end(&run);
}

Test(hang, suspects_are_the_ranks_that_others_wait_for)
{
	struct history_job job = eight;
	job.faults[0] = (struct history_fault){ .kind = FAULT_NEVER, .rank = 6, .first_step = 12 };
	struct history *history = history_new(&job);
	struct run run = play_until(&job, false, history_struck_ms(history) + 500);
	struct analysis_suspect suspects[8];
	cr_assert_eq(analysis_suspects(run.analysis, suspects, 8), 1);
	cr_expect_eq(suspects[0].process, 106);
	cr_expect_eq(suspects[0].tid, 1006);
	end(&run);
	history_free(history);
}

struct flight_check {
	int flights;
	int32_t absent;
	bool absent_missing;
	size_t joined;
};

static void check_flight(void *argument, const struct analysis_flight *flight)
{
	struct flight_check *check = argument;
	check->flights++;
	check->joined = flight->joined_count;
	for (size_t i = 0; i < flight->missing_count; i++)
		check->absent_missing |= flight->missing[i] == check->absent;
}

Test(hang, flights_show_who_was_in_and_who_had_not_joined)
{
	struct history_job job = eight;
	job.faults[0] = (struct history_fault){ .kind = FAULT_NEVER, .rank = 6, .first_step = 12 };
	struct history *history = history_new(&job);
	struct run run = play_until(&job, true, history_struck_ms(history) + 500);
	struct flight_check check = { .absent = 6 };
	analysis_visit_flights(run.analysis, check_flight, &check);
	cr_expect_eq(check.flights, 1);
	cr_expect_eq(check.joined, 7);
	cr_expect(check.absent_missing);
	end(&run);
	history_free(history);
}

Test(hang, history_cut_at_any_moment_never_names_a_wrong_rank)
{
	for (unsigned seed = 0; seed < seeds(1200); seed++) {
		struct history_job job = eight;
		int rank = (int)(seed % 8);
		job.seed = seed;
		job.tensor_parallel = seed % 3 ? 0 : 2;
		if (seed % 2)
			job.faults[0] = (struct history_fault){
				.kind = FAULT_NEVER, .rank = rank, .first_step = 12, .evidence = EVIDENCE_SLEEP
			};
		else
			job.faults[0] = (struct history_fault){ .kind = FAULT_HOST,
								.rank = rank,
								.first_step = 12,
								.ms = 900,
								.evidence = EVIDENCE_FSYNC_SELF };
		struct history *history = history_new(&job);
		double cut_ms = HISTORY_BASE_MS + (history_end_ms(history) - HISTORY_BASE_MS) * (seed * 37 % 300) / 300;
		history_free(history);
		struct run run = play_until(&job, true, cut_ms);
		for (int i = 0; i < 8; i++)
			analysis_set_life(run.analysis, (analysis_process_id)(100 + i), ANALYSIS_KILLED, -1,
					  (uint64_t)(cut_ms * 1e6));
		analysis_tick(run.analysis, (uint64_t)(cut_ms * 1e6) + 100000000);
		analysis_tick(run.analysis, (uint64_t)(cut_ms * 1e6) + 5000000000);
		run.findings = history_findings(run.history, &run.count);
		for (size_t i = 0; i < run.count; i++)
			cr_expect(run.findings[i].rank == rank, "seed %u: %s", seed, run.findings[i].text);
		end(&run);
	}
}

/* A job on two hosts: rank 6 is killed, and the ranks of the other host leave with an error of their connections. */
Test(hang, a_killed_rank_is_told_although_the_other_host_leaves_with_it)
{
	struct history_job job = eight;
	job.hosts = 2;
	job.faults[0] = (struct history_fault){ .kind = FAULT_KILLED, .rank = 6, .first_step = 12 };
	for (int i = 1; i < 5; i++)
		job.faults[i] = (struct history_fault){ .kind = FAULT_EXITED, .rank = i - 1, .first_step = 12 };
	struct run run = play_until(&job, false, 0);
	const struct history_finding *finding = loudest(&run);
	cr_assert(finding);
	cr_expect_eq(finding->kind, RW_KIND_GONE);
	for (size_t i = 0; i < run.count; i++)
		cr_expect_eq(run.findings[i].rank, 6, "%s", run.findings[i].text);
	end(&run);
}

/* What a rank on another host still called while its connections broke, nobody alive stands in. */
Test(hang, a_killed_rank_is_told_although_one_that_left_had_called_the_next_operation)
{
	struct run told = play_with_followers(true, 1, 1, 0);
	const char *operation = strchr(loudest(&told)->text, '#');
	cr_assert(operation);
	struct rw_operation next = {
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_TASK | RW_KNOWN_STARTED,
		.ticket = 1u << 20,
		.function = RW_FUNCTION_ALL_GATHER,
		.dtype = RW_DTYPE_BFLOAT16,
		.count = 1,
		.sequence = strtoull(operation + 1, NULL, 10) + 1,
	};
	end(&told);
	struct history_job job = eight;
	job.hosts = 2;
	job.faults[0] = (struct history_fault){ .kind = FAULT_KILLED, .rank = 5, .first_step = 12 };
	struct run run = { .history = history_new(&job) };
	run.analysis = analysis_new(false, history_emit, run.history);
	double at_ms = history_struck_ms(run.history) + 50;
	history_play(run.history, run.analysis, at_ms);
	next.api_ns = next.launch_begin_ns = next.launch_end_ns = next.return_ns = next.started_seen_ns =
	    (uint64_t)(at_ms * 1e6);
	cr_assert_eq(analysis_add_operation(run.analysis, 101, &next), 0);
	cr_assert_eq(analysis_set_life(run.analysis, 101, ANALYSIS_EXITED, 1 << 8, (uint64_t)(at_ms * 1e6)), 0);
	history_play(run.history, run.analysis, 0);
	run.findings = history_findings(run.history, &run.count);
	cr_assert(loudest(&run));
	cr_expect_eq(loudest(&run)->kind, RW_KIND_GONE);
	cr_expect_eq(loudest(&run)->rank, 5, "%s", loudest(&run)->text);
	end(&run);
}

/* Nobody can end an AllGather before all have come to it: who is in it when all others are through waits for nobody. */
Test(hang, one_that_is_still_in_what_all_others_have_ended_is_not_waiting_for_them)
{
	for (int host_stops = 0; host_stops < 2; host_stops++)
		for (int rank = 0; rank < 8; rank++) {
			struct history_job job = eight;
			job.faults[0] = (struct history_fault){ .kind = FAULT_ENDLESS, .rank = rank, .first_step = 15,
								.ms = host_stops, .evidence = EVIDENCE_SLEEP };
			struct run run = play_until(&job, false, 0);
			const struct history_finding *finding = loudest(&run);
			cr_assert(finding, "rank %d, host stops %d", rank, host_stops);
			cr_expect_eq(finding->rank, rank, "rank %d: %s", rank, finding->text);
			cr_expect_eq(finding->rank_count, 1);
			cr_expect_eq(finding->kind, RW_KIND_HANG, "%s", finding->text);
			double after_ms = (double)finding->time_ns / 1e6 - history_struck_ms(run.history);
			cr_expect_lt(after_ms, 5000, "rank %d: %f", rank, after_ms);
			end(&run);
		}
}
