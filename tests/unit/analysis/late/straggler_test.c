/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/analysis/jobs/played.h"
#include "tests/unit/analysis/jobs/seeds.h"

static const struct history_job eight = { .ranks = 8, .steps = 40, .layers = 4, .compute_ms = 40, .jitter_ms = 2 };

static size_t loud(const struct played *run)
{
	size_t count = 0;
	for (size_t i = 0; i < run->count; i++)
		count += run->findings[i].severity > RW_NOTICE;
	return count;
}

static const struct history_finding *opened(const struct played *run, enum rw_kind kind, int rank)
{
	for (size_t i = 0; i < run->count; i++)
		if (run->findings[i].state == RW_FINDING_OPEN && run->findings[i].kind == kind &&
		    run->findings[i].rank == rank)
			return &run->findings[i];
	return NULL;
}

Test(straggler, names_the_rank_and_its_cause_whatever_the_evidence)
{
	static const struct {
		enum history_evidence evidence;
		enum history_fault_kind kind;
		double ms;
		enum rw_cause_class class_;
		enum rw_level level;
		size_t chain;
		const char *text;
	} cases[] = {
		{ EVIDENCE_FSYNC, FAULT_HOST, 400, RW_CAUSE_IO, RW_LEVEL_EBPF, 0, "fsync(2)" },
		{ EVIDENCE_FSYNC_WRITER, FAULT_HOST, 1300, RW_CAUSE_IO, RW_LEVEL_EBPF, 1, "fsync(2)" },
		{ EVIDENCE_FSYNC_GUESSED, FAULT_HOST, 1300, RW_CAUSE_IO, RW_LEVEL_PROC, 1, "fsync(2)" },
		{ EVIDENCE_FSYNC_SELF, FAULT_HOST, 1300, RW_CAUSE_IO, RW_LEVEL_SELF, 1, "fsync(2)" },
		{ EVIDENCE_LOCK, FAULT_HOST, 300, RW_CAUSE_LOCK, RW_LEVEL_EBPF, 1, "futex(2)" },
		{ EVIDENCE_RUN_QUEUE, FAULT_HOST, 300, RW_CAUSE_CPU, RW_LEVEL_EBPF, 0, "waiting for a CPU" },
		{ EVIDENCE_RUN_QUEUE, FAULT_HOST_EACH, 60, RW_CAUSE_CPU, RW_LEVEL_EBPF, 0, "waiting for a CPU" },
		{ EVIDENCE_BUSY, FAULT_HOST, 600, RW_CAUSE_RUNNING, RW_LEVEL_PROC, 0, "running on the CPU" },
		{ EVIDENCE_NOTHING, FAULT_HOST, 300, RW_CAUSE_UNKNOWN, RW_LEVEL_NONE, 0, "not known" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct history_job job = eight;
		job.faults[0] = (struct history_fault){
			.kind = cases[i].kind,
			.rank = 3,
			.first_step = 12,
			.ms = cases[i].ms,
			.evidence = cases[i].evidence,
		};
		struct played run = play(&job);
		const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 3);
		cr_assert(finding, "case %zu: not named", i);
		cr_expect_gt(loud(&run), 0, "case %zu", i);
		cr_expect_eq(finding->class_, cases[i].class_, "case %zu: class %d", i, finding->class_);
		cr_expect_eq(finding->level, cases[i].level, "case %zu: level %d", i, finding->level);
		cr_expect_eq(finding->chain_count, cases[i].chain, "case %zu", i);
		cr_expect_str_eq(finding->cause_text, cases[i].text, "case %zu: %s", i, finding->cause_text);
		cr_expect_eq(finding->late_kind, RW_LATE_HOST, "case %zu", i);
		for (size_t k = 0; k < run.count; k++)
			cr_expect(run.findings[k].rank == 3 || run.findings[k].severity == RW_NOTICE,
				  "case %zu: also named rank %d: %s", i, run.findings[k].rank, run.findings[k].text);
		end(&run);
	}
}

/* All sleep in each step, for the sake of pace. Rank 3 does something else before that, which nobody saw: while it is
 * late it sleeps. */
Test(straggler, a_sleep_that_all_ranks_have_is_not_what_one_is_late_for)
{
	static const struct {
		double ms;
		enum history_evidence evidence;
		enum rw_cause_class class_;
	} cases[] = {
		{ 150, EVIDENCE_NOTHING, RW_CAUSE_UNKNOWN },
		{ 150, EVIDENCE_SLEEP_SEEN, RW_CAUSE_SLEEP },
		{ 600, EVIDENCE_FSYNC, RW_CAUSE_IO },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct history_job job = eight;
		job.faults[0] = (struct history_fault){
			.kind = FAULT_HOST, .rank = 3, .first_step = 12, .ms = cases[i].ms, .evidence = cases[i].evidence
		};
		job.faults[1] = (struct history_fault){
			.kind = FAULT_ALL, .first_step = 1, .ms = 300, .evidence = EVIDENCE_SLEEP_SEEN
		};
		struct played run = play(&job);
		const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 3);
		cr_assert(finding, "case %zu: not named", i);
		for (size_t k = 0; k < run.count; k++) {
			cr_expect_eq(run.findings[k].rank, 3, "case %zu: %s", i, run.findings[k].text);
			cr_expect_eq(run.findings[k].class_, cases[i].class_, "case %zu: class %d: %s", i, run.findings[k].class_,
				     run.findings[k].cause_text);
		}
		end(&run);
	}
}

/* The samplers have found it asleep: behind its launch, which says nothing about the time before, or while it is late,
 * which all ranks may be for as long. */
Test(straggler, a_sleep_that_samples_show_is_no_cause_after_the_launch_and_never_certain)
{
	static const struct {
		enum history_evidence evidence;
		enum rw_cause_class class_;
		enum rw_confidence confidence;
	} cases[] = { { EVIDENCE_SLEEP_AFTER, RW_CAUSE_UNKNOWN, RW_CERTAIN }, { EVIDENCE_SLEEP, RW_CAUSE_SLEEP, RW_LIKELY } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct history_job job = eight;
		job.faults[0] = (struct history_fault){
			.kind = FAULT_HOST, .rank = 3, .first_step = 12, .ms = 180, .evidence = cases[i].evidence
		};
		struct played run = play(&job);

		cr_assert(opened(&run, RW_KIND_STRAGGLER, 3), "case %zu: not named", i);
		for (size_t k = 0; k < run.count; k++) {
			cr_expect_eq(run.findings[k].rank, 3, "case %zu: %s", i, run.findings[k].text);
			cr_expect_eq(run.findings[k].class_, cases[i].class_, "case %zu: class %d: %s", i, run.findings[k].class_,
				     run.findings[k].cause_text);
			cr_expect_eq(run.findings[k].confidence, cases[i].confidence, "case %zu: %d", i, run.findings[k].confidence);
		}
		end(&run);
	}
}

/* Where the others are quiet, a lateness that stays what it is waits neither for the first steps to be over nor for a
 * cause. */
Test(straggler, names_who_is_steadily_late_in_a_short_job_without_noise)
{
	struct history_job job = { .ranks = 4, .steps = 24, .layers = 2, .compute_ms = 20, .tail_ms = 3000 };

	job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = 1, .first_step = 8, .ms = 20 };
	struct played run = play(&job);
	const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 1);
	cr_assert(finding, "not named");
	cr_expect_eq(finding->confidence, RW_CERTAIN);
	for (size_t i = 0; i < run.count; i++)
		cr_expect(run.findings[i].rank == 1, "also named rank %d: %s", run.findings[i].rank, run.findings[i].text);
	end(&run);
}

Test(straggler, measures_what_the_job_would_win)
{
	struct history_job job = eight;
	job.faults[0] = (struct history_fault){
		.kind = FAULT_HOST, .rank = 0, .first_step = 9, .ms = 1310, .evidence = EVIDENCE_FSYNC_WRITER
	};
	struct played run = play(&job);
	const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 0);
	cr_assert(finding);
	cr_expect_float_eq(finding->lost_ms, 1310, 40, "%f", finding->lost_ms);
	cr_expect_eq(finding->since_step, 9, "%ld", finding->since_step);
	cr_expect_float_eq(finding->lost_share, 0.79, 0.03, "%f", finding->lost_share);
	cr_expect_eq(finding->waiting_count, 7);
	cr_expect_str_eq(finding->comm_name, "~fsdp");
	cr_expect_str_eq(finding->waits_for, "thread tb-writer");
	cr_expect_gt(finding->share, 0.9);
	cr_expect(strstr(finding->text, "rank 0 makes every step 1.3"), "%s", finding->text);
	cr_expect(strstr(finding->text, "of the step, since step 9"), "%s", finding->text);
	end(&run);
}

Test(straggler, is_told_soon_after_the_third_late_step_in_a_row)
{
	for (int rank = 0; rank < 8; rank++) {
		struct history_job job = eight;
		job.seed = (unsigned)rank;
		job.faults[0] = (struct history_fault){
			.kind = FAULT_HOST, .rank = rank, .first_step = 15, .ms = 200, .evidence = EVIDENCE_FSYNC
		};
		struct played run = play(&job);
		const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, rank);
		cr_assert(finding, "rank %d", rank);
		double after_ms = (double)finding->time_ns / 1e6 - history_step_ms(run.history, 17) - 200;
		cr_expect(after_ms > 0 && after_ms < 1000, "rank %d: %f ms after the third", rank, after_ms);
		end(&run);
	}
}

Test(straggler, slow_from_the_start_is_found_within_a_dozen_steps)
{
	struct history_job job = eight;
	job.faults[0] = (struct history_fault){
		.kind = FAULT_HOST, .rank = 5, .first_step = 1, .ms = 100, .evidence = EVIDENCE_FSYNC
	};
	struct played run = play(&job);
	const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 5);
	cr_assert(finding);
	cr_expect_lt((double)finding->time_ns / 1e6, history_step_ms(run.history, 14));
	end(&run);
}

/* One of two is always the latest, and while it is, the other does not show what is usual. */
Test(straggler, of_two_ranks_the_slow_one_takes_many_steps_more_unless_its_cause_is_seen)
{
	struct history_job job = eight;
	job.ranks = 2;
	job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = 1, .first_step = 1, .ms = 200 };
	struct played run = play(&job);
	const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 1);
	cr_assert(finding);
	cr_expect_gt((double)finding->time_ns / 1e6, history_step_ms(run.history, 23));
	cr_expect_lt((double)finding->time_ns / 1e6, history_step_ms(run.history, 30));
	end(&run);

	static const enum history_evidence seen[] = { EVIDENCE_FSYNC, EVIDENCE_SLEEP_SEEN };
	for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++) {
		job.faults[0].evidence = seen[i];
		run = play(&job);
		finding = opened(&run, RW_KIND_STRAGGLER, 1);
		cr_assert(finding, "case %zu", i);
		cr_expect_lt((double)finding->time_ns / 1e6, history_step_ms(run.history, 12), "case %zu", i);
		end(&run);
	}
}

Test(straggler, is_found_where_others_are_late_now_and_then)
{
	for (unsigned seed = 0; seed < seeds(80); seed++) {
		struct history_job job = eight;
		job.steps = 300;
		job.stall_chance = 0.02;
		job.stall_ms = 400;
		job.seed = seed;
		job.faults[0] = (struct history_fault){
			.kind = FAULT_HOST, .rank = 4, .first_step = 250, .ms = 200, .evidence = EVIDENCE_FSYNC
		};
		struct played run = play(&job);
		const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 4);
		cr_assert(finding, "seed %u", seed);
		cr_expect_lt((double)finding->time_ns / 1e6, history_step_ms(run.history, 260), "seed %u", seed);
		end(&run);
	}
}

Test(straggler, a_slow_gpu_is_late_by_its_device)
{
	struct history_job job = eight;
	job.faults[0] = (struct history_fault){ .kind = FAULT_DEVICE, .rank = 2, .first_step = 12, .ms = 150 };
	job.runs_ahead = true;
	struct played run = play(&job);
	const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 2);
	cr_assert(finding);
	cr_expect_eq(finding->late_kind, RW_LATE_DEVICE);
	cr_expect_eq(finding->class_, RW_CAUSE_UNKNOWN);
	cr_expect_gt(finding->missing_count, 0);
	end(&run);
}

/* As where a rank waits for a lock before its step, and the operations before were small ones in a row, whose end
 * nobody followed. */
Test(straggler, of_whom_nothing_was_seen_is_not_said_to_have_been_in_time)
{
	static const enum history_evidence evidence[] = { EVIDENCE_NOTHING, EVIDENCE_LOCK };
	for (size_t i = 0; i < 2; i++) {
		struct history_job job = eight;
		job.sampled_firsts = true;
		job.faults[0] =
		    (struct history_fault){ .kind = FAULT_HOST, .rank = 3, .first_step = 12, .ms = 400, .evidence = evidence[i] };
		struct played run = play(&job);
		const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 3);
		cr_assert(finding, "case %zu", i);
		cr_expect_eq(finding->late_kind, RW_LATE_NONE, "case %zu: nobody knows how long its GPU had nothing to do", i);
		cr_expect_not(strstr(finding->missing, "in time"), "case %zu: %s", i, finding->missing);
		cr_expect_eq(finding->class_, i ? RW_CAUSE_LOCK : RW_CAUSE_UNKNOWN, "case %zu", i);
		if (!i)
			cr_expect(strstr(finding->missing, "what its threads did"), "%s", finding->missing);
		end(&run);
	}
}

/* Its GPU had other work until then, as its launches tell; of its threads nothing was seen. */
Test(straggler, a_slow_gpu_whose_threads_nobody_saw_is_told_as_that)
{
	struct history_job job = eight;
	job.faults[0] = (struct history_fault){ .kind = FAULT_DEVICE, .rank = 2, .first_step = 12, .ms = 150 };
	job.runs_ahead = true;
	struct played run = play(&job);
	const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 2);
	cr_assert(finding);
	cr_expect_eq(finding->late_kind, RW_LATE_DEVICE);
	cr_expect(strstr(finding->missing, "nothing was seen of the host's threads, but it had launched in time"), "%s",
		  finding->missing);
	end(&run);
}

Test(straggler, several_are_named_each)
{
	struct history_job job = eight;
	job.faults[0] = (struct history_fault){
		.kind = FAULT_HOST, .rank = 1, .first_step = 12, .ms = 300, .evidence = EVIDENCE_FSYNC
	};
	job.faults[1] = (struct history_fault){
		.kind = FAULT_HOST, .rank = 6, .first_step = 12, .ms = 320, .evidence = EVIDENCE_RUN_QUEUE
	};
	struct played run = play(&job);
	const struct history_finding *first = opened(&run, RW_KIND_STRAGGLER, 1);
	const struct history_finding *second = opened(&run, RW_KIND_STRAGGLER, 6);
	cr_assert(first && second);
	cr_expect_eq(first->class_, RW_CAUSE_IO);
	cr_expect_eq(second->class_, RW_CAUSE_CPU);
	end(&run);
}

Test(straggler, one_that_recovers_is_closed_and_keeps_its_id_when_it_comes_back)
{
	struct history_job job = eight;
	job.steps = 60;
	job.faults[0] = (struct history_fault){
		.kind = FAULT_HOST, .rank = 4, .first_step = 12, .last_step = 18, .ms = 300, .evidence = EVIDENCE_FSYNC
	};
	job.faults[1] = (struct history_fault){
		.kind = FAULT_HOST, .rank = 4, .first_step = 45, .ms = 300, .evidence = EVIDENCE_FSYNC
	};
	struct played run = play(&job);
	const struct history_finding *last_open = NULL, *closed = NULL, *first = opened(&run, RW_KIND_STRAGGLER, 4);
	for (size_t i = 0; i < run.count; i++) {
		if (run.findings[i].state == RW_FINDING_OPEN)
			last_open = &run.findings[i];
		if (run.findings[i].state == RW_FINDING_CLOSED && !closed)
			closed = &run.findings[i];
	}
	cr_assert(first && closed && last_open && last_open != first);
	cr_expect_gt((double)closed->time_ns / 1e6, history_step_ms(run.history, 23));
	cr_expect_lt((double)closed->time_ns / 1e6, history_step_ms(run.history, 27));
	cr_expect_str_eq(first->id, last_open->id);
	/* What is over is told so: in the steps 12 to 18 it was late, and in no other. */
	cr_expect(strstr(closed->text, "rank 4 made 7 steps "), "%s", closed->text);
	cr_expect(strstr(closed->text, ", from step 12 to 18"), "%s", closed->text);
	cr_expect(strstr(last_open->text, "rank 4 makes every step "), "%s", last_open->text);
	end(&run);
}

Test(straggler, the_root_is_named_and_not_its_victims_in_another_communicator)
{
	struct history_job job = {
		.ranks = 8, .steps = 40, .layers = 4, .compute_ms = 20, .jitter_ms = 1, .tensor_parallel = 2
	};
	for (int rank = 0; rank < 8; rank++) {
		job.faults[0] = (struct history_fault){
			.kind = FAULT_HOST, .rank = rank, .first_step = 12, .ms = 250, .evidence = EVIDENCE_FSYNC
		};
		struct played run = play(&job);
		cr_assert(opened(&run, RW_KIND_STRAGGLER, rank), "rank %d", rank);
		for (size_t i = 0; i < run.count; i++)
			cr_expect(run.findings[i].rank == rank || run.findings[i].severity == RW_NOTICE,
				  "rank %d named for %d", run.findings[i].rank, rank);
		end(&run);
	}
}

Test(straggler, a_host_whose_ranks_are_all_late_is_one_suspect)
{
	for (int hosts = 2; hosts <= 8; hosts *= 2) {
		struct history_job job = eight;
		int of_host = job.ranks / hosts;
		job.hosts = hosts;
		for (int i = 0; i < of_host; i++)
			job.faults[i] = (struct history_fault){
				.kind = FAULT_HOST, .rank = 4 + i, .first_step = 12, .ms = 300, .evidence = EVIDENCE_FSYNC
			};
		struct played run = play(&job);
		const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 4);
		cr_assert(finding, "%d hosts", hosts);
		cr_expect_eq(finding->scope, of_host > 1 ? RW_SCOPE_HOST : RW_SCOPE_RANK, "%d hosts", hosts);
		cr_expect_eq(finding->rank_count, of_host, "%d hosts: %zu ranks", hosts, (size_t)finding->rank_count);
		cr_expect_gt(finding->lost_ms, 250, "%d hosts", hosts);
		cr_expect_eq(loud(&run), 1, "%d hosts: %zu findings", hosts, loud(&run));
		end(&run);
	}
}

Test(straggler, without_gpu_times_it_is_likely_at_most)
{
	struct history_job job = eight;
	job.no_gpu_times = true;
	job.faults[0] = (struct history_fault){
		.kind = FAULT_HOST, .rank = 3, .first_step = 12, .ms = 400, .evidence = EVIDENCE_FSYNC
	};
	struct played run = play(&job);
	const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 3);
	cr_assert(finding);
	cr_expect_eq(finding->confidence, RW_LIKELY);
	end(&run);
}

Test(straggler, a_stage_that_becomes_slower_is_found_in_a_pipeline)
{
	struct history_job job = { .ranks = 4, .steps = 80, .compute_ms = 30, .jitter_ms = 1, .pipeline = true };
	job.faults[0] = (struct history_fault){ .kind = FAULT_DEVICE, .rank = 2, .first_step = 25, .ms = 120 };
	struct played run = play(&job);
	const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 2);
	cr_assert(finding);
	/* The stages in the middle receive and send twice: that may be two passes, of which a step may have many. So no
	 * step is told. */
	cr_expect_lt((double)finding->time_ns / 1e6, history_step_ms(run.history, 40));
	cr_expect_eq(finding->since_step, -1, "%ld", finding->since_step);
	for (size_t i = 0; i < run.count; i++)
		cr_expect_eq(run.findings[i].rank, 2, "%s", run.findings[i].text);
	end(&run);
}

Test(straggler, of_a_pipeline_is_told_with_its_first_late_step)
{
	for (int rank = 0; rank < 2; rank++) {
		struct history_job job = { .ranks = 2, .steps = 50, .compute_ms = 30, .jitter_ms = 1, .pipeline = true };
		job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = rank, .first_step = 25, .ms = 120 };
		struct played run = play(&job);
		const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, rank);
		cr_assert(finding, "rank %d", rank);
		cr_expect_eq(finding->since_step, 25, "rank %d: %ld", rank, finding->since_step);
		end(&run);
	}
}

/* Where there is no history yet to measure a pipeline's lateness by, its first steps are taken for the usual. */
Test(straggler, of_a_pipeline_that_is_late_from_early_on_tells_no_other_step)
{
	int told = 0;
	for (int first = 2; first < 12; first++) {
		struct history_job job = { .ranks = 2, .steps = 50, .compute_ms = 30, .jitter_ms = 1, .pipeline = true };
		job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = 1, .first_step = first, .ms = 120 };
		struct played run = play(&job);
		const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 1);
		long since = finding ? finding->since_step : -1;
		cr_expect(since == -1 || since == first, "first %d: %ld", first, since);
		told += since == first;
		end(&run);
	}
	cr_expect_geq(told, 3);
}

Test(straggler, a_little_lateness_shortly_before_is_not_its_beginning)
{
	struct history_job job = eight;

	job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = 3, .first_step = 18, .last_step = 18, .ms = 40 };
	job.faults[1] = (struct history_fault){ .kind = FAULT_HOST, .rank = 3, .first_step = 20, .ms = 900 };
	struct played run = play(&job);
	const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 3);
	cr_assert(finding);
	cr_expect_eq(finding->since_step, 20, "%ld", finding->since_step);
	end(&run);
}

Test(straggler, of_a_communicator_seen_in_part_names_only_the_seen_and_says_so)
{
	struct history_job job = eight;
	job.seen = 4;
	job.faults[0] = (struct history_fault){
		.kind = FAULT_HOST, .rank = 6, .first_step = 12, .ms = 400, .evidence = EVIDENCE_FSYNC
	};
	struct played run = play(&job);
	cr_expect_eq(loud(&run), 0);
	end(&run);

	job.faults[0].rank = 2;
	run = play(&job);
	const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 2);
	cr_assert(finding);
	cr_expect_gt(finding->missing_count, 0);
	end(&run);
}

Test(straggler, a_second_analysis_that_starts_in_the_middle_finds_the_same_id)
{
	struct history_job job = eight;
	job.faults[0] = (struct history_fault){
		.kind = FAULT_HOST, .rank = 0, .first_step = 9, .ms = 500, .evidence = EVIDENCE_FSYNC_SELF
	};
	job.steps = SANITIZED ? 60 : 400;
	job.layers = 24;
	job.compute_ms = 8;
	struct played first = play(&job);
	const struct history_finding *before = opened(&first, RW_KIND_STRAGGLER, 0);
	cr_assert(before);

	/* Long after, so that the first boxes hold more than fits; the restarted collector reads them whole. */
	struct played second = { .history = history_new(&job) };
	second.analysis = analysis_new(false, history_emit, second.history);
	double now_ms = history_step_ms(second.history, job.steps * 3 / 4) + 10;
	history_catch_up(second.history, second.analysis, now_ms);
	history_play(second.history, second.analysis, now_ms + 2000);
	second.findings = history_findings(second.history, &second.count);
	const struct history_finding *after = opened(&second, RW_KIND_STRAGGLER, 0);
	cr_assert(after);
	cr_expect_str_eq(before->id, after->id);
	/* Nobody has sampled it yet when it is named. */
	cr_expect_eq(second.findings[second.count - 1].class_, RW_CAUSE_IO);
	cr_expect_str_eq(second.findings[second.count - 1].id, before->id);
	end(&first);
	end(&second);
}

/* A stall that strikes an operation nobody followed is not seen: of those in each step one in three is. */
Test(straggler, what_could_only_be_followed_in_part_is_told_as_the_least)
{
	static const struct {
		int sampled, first_step;
		bool least;
	} cases[] = { { 0, 1, false }, { 3, 1, true }, { 3, 20, true }, { 0, 20, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct history_job job = { .ranks = 8, .steps = 60, .layers = 5, .compute_ms = 20, .jitter_ms = 1,
					   .sampled = cases[i].sampled };
		job.faults[0] = (struct history_fault){
			.kind = FAULT_HOST, .rank = 3, .first_step = cases[i].first_step, .ms = 400
		};
		struct played run = play(&job);
		bool told = false;
		for (size_t k = 0; k < run.count; k++) {
			const struct history_finding *finding = &run.findings[k];
			if (finding->kind != RW_KIND_STRAGGLER || finding->state == RW_FINDING_CLOSED)
				continue;
			told = true;
			cr_expect_eq(finding->rank, 3, "%zu: %s", i, finding->text);
			cr_expect_eq(strstr(finding->text, "at least") != NULL, cases[i].least, "%zu: %s", i, finding->text);
		}
		cr_expect(told, "%zu", i);
		end(&run);
	}
}

/* What a rank was late for may be that it waited for another one where nobody sees it: directly before it came, and in
 * a group that is another one. A cause that is seen in its own threads is none of that. */
Test(straggler, that_may_have_waited_where_nobody_sees_is_not_certain)
{
	static const struct {
		enum history_hidden hidden;
		enum history_fault_kind kind;
		enum history_evidence evidence;
		bool certain;
		const char *missing;
	} cases[] = {
		{ HIDDEN_NOTHING, FAULT_HOST_EACH, EVIDENCE_NOTHING, true, NULL },
		{ HIDDEN_CAPTURED, FAULT_HOST, EVIDENCE_NOTHING, false, "in its CUDA graphs" },
		{ HIDDEN_CAPTURED, FAULT_DEVICE, EVIDENCE_NOTHING, false, "in its CUDA graphs" },
		{ HIDDEN_CAPTURED, FAULT_HOST, EVIDENCE_FSYNC, true, NULL },
		{ HIDDEN_UNTRACKED, FAULT_HOST_EACH, EVIDENCE_NOTHING, false, "operations without GPU times" },
		{ HIDDEN_UNTRACKED, FAULT_HOST, EVIDENCE_NOTHING, true, NULL }, /* not directly before the first of a step */
		{ HIDDEN_UNFOLLOWED, FAULT_HOST_EACH, EVIDENCE_NOTHING, false, "operations without GPU times" },
		{ HIDDEN_UNFOLLOWED, FAULT_HOST, EVIDENCE_NOTHING, true, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct history_job job = eight;
		job.tensor_parallel = 2;
		job.hidden = cases[i].hidden;
		job.faults[0] = (struct history_fault){
			.kind = cases[i].kind, .rank = 3, .first_step = 12, .ms = cases[i].kind == FAULT_HOST_EACH ? 150 : 300,
			.evidence = cases[i].evidence,
		};
		struct played run = play(&job);
		const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 3);
		cr_assert(finding, "case %zu: not named", i);
		cr_expect_eq(finding->confidence, cases[i].certain ? RW_CERTAIN : RW_LIKELY, "case %zu: %d, %s", i,
			     finding->confidence, finding->missing);
		if (cases[i].missing)
			cr_expect(strstr(finding->missing, cases[i].missing), "case %zu: %s", i, finding->missing);
		else
			cr_expect_not(strstr(finding->missing, "may have waited"), "case %zu: %s", i, finding->missing);
		end(&run);
	}
}

/* Rank 2 is the first of host b, which is late as a whole. */
Test(straggler, the_cause_of_a_host_is_that_of_whichever_of_its_ranks_has_one)
{
	static const struct {
		enum history_evidence first, second;
		enum rw_cause_class class_;
		enum rw_confidence confidence;
		const char *text, *missing;
	} cases[] = {
		{ EVIDENCE_FSYNC, EVIDENCE_FSYNC, RW_CAUSE_IO, RW_CERTAIN, "fsync(2)", "" },
		{ EVIDENCE_FSYNC, EVIDENCE_NOTHING, RW_CAUSE_IO, RW_LIKELY, "fsync(2)", "why 1 of the host's 2 ranks is late" },
		{ EVIDENCE_NOTHING, EVIDENCE_FSYNC, RW_CAUSE_IO, RW_LIKELY, "fsync(2)", "why 1 of the host's 2 ranks is late" },
		{ EVIDENCE_RUN_QUEUE, EVIDENCE_FSYNC, RW_CAUSE_UNKNOWN, RW_CERTAIN,
		  "its ranks are late for different reasons: rank 3 fsync(2), rank 2 waiting for a CPU", "" },
		{ EVIDENCE_NOTHING, EVIDENCE_NOTHING, RW_CAUSE_UNKNOWN, RW_CERTAIN, "not known", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct history_job job = eight;
		job.hosts = 4;
		for (int k = 0; k < 2; k++)
			job.faults[k] = (struct history_fault){
				.kind = FAULT_HOST, .rank = 2 + k, .first_step = 12, .ms = 300, .evidence = k ? cases[i].second : cases[i].first
			};
		struct played run = play(&job);
		const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 2);

		cr_assert(finding && finding->scope == RW_SCOPE_HOST, "case %zu", i);
		cr_expect_eq(finding->class_, cases[i].class_, "case %zu: %d", i, finding->class_);
		cr_expect_eq(finding->confidence, cases[i].confidence, "case %zu: %d: %s", i, finding->confidence, finding->missing);
		cr_expect_str_eq(finding->cause_text, cases[i].text, "case %zu", i);
		cr_expect(*cases[i].missing ? strstr(finding->missing, cases[i].missing) != NULL : !*finding->missing,
			  "case %zu: %s", i, finding->missing);
		end(&run);
	}
}

static void expect_the_host(const struct history_job *job, int first, int each, const char *what, unsigned seed)
{
	struct played run = play(job);
	const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, first);

	cr_assert(finding, "%s, seed %u: not named", what, seed);
	cr_expect_lt((double)finding->time_ns / 1e6, history_step_ms(run.history, 18), "%s, seed %u: named late", what, seed);
	for (size_t k = 0; k < run.count; k++) {
		const struct history_finding *told = &run.findings[k];
		cr_expect(told->scope == RW_SCOPE_HOST && told->rank_count == each && told->rank == first,
			  "%s, seed %u: %s", what, seed, told->text);
		cr_expect_eq(told->class_, RW_CAUSE_CPU, "%s, seed %u: %s", what, seed, told->text);
	}
	end(&run);
}

/* By little more than counts. */
Test(straggler, names_the_host_whose_ranks_are_all_held_alike)
{
	static const int hosts[] = { 2, 4, 8 };
	const int each = 4;

	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
		for (unsigned seed = 0; seed < seeds(10); seed++) {
			struct history_job job = eight;
			int first = each * ((int)seed % hosts[i]);
			job.hosts = hosts[i];
			job.ranks = each * hosts[i];
			job.seed = seed;
			for (int rank = 0; rank < each; rank++)
				job.faults[rank] = (struct history_fault){ .kind = FAULT_HOST, .rank = first + rank, .first_step = 12,
									   .ms = 45, .evidence = EVIDENCE_RUN_QUEUE };
			expect_the_host(&job, first, each, "all seen", seed);
		}
}

/* Of one of them the cause is seen, so that it is suspected after three steps; the tests of the others take longer. */
Test(straggler, names_the_host_as_soon_as_one_of_its_late_ranks_is_suspected)
{
	const int each = 4;

	for (unsigned seed = 0; seed < seeds(10); seed++) {
		struct history_job job = eight;
		job.hosts = 4;
		job.ranks = each * job.hosts;
		job.seed = seed;
		for (int rank = 0; rank < each; rank++)
			job.faults[rank] =
			    (struct history_fault){ .kind = FAULT_HOST,
						    .rank = 8 + rank,
						    .first_step = 12,
						    .ms = rank ? 45 : 55,
						    .evidence = rank ? EVIDENCE_NOTHING : EVIDENCE_RUN_QUEUE };
		expect_the_host(&job, 8, each, "one seen", seed);
	}
}

/* Noise that lasts for a few steps: each of these is later than the one before, and the next one is in time. A fault
 * that begins in the middle of the first of them is as late in the fourth. */
Test(straggler, a_lateness_that_has_only_grown_for_three_steps_names_nobody_yet)
{
	for (int goes_on = 0; goes_on < 2; goes_on++) {
		static const double ms[] = { 75, 160, 220 };
		const int first = 80, steps = (int)(sizeof(ms) / sizeof(*ms));
		struct history_job job = eight;
		job.steps = 100;
		for (int i = 0; i < steps + goes_on; i++)
			job.faults[i] = (struct history_fault){ .kind = FAULT_DEVICE, .rank = 3, .first_step = first + i,
								.last_step = i < steps ? first + i : 0, .ms = i < steps ? ms[i] : 220 };
		struct played run = play(&job);
		const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 3);

		cr_expect_eq(finding != NULL, goes_on, "%s", finding ? finding->text : "nobody");
		cr_expect(!finding || (double)finding->time_ns / 1e6 < history_step_ms(run.history, first + 8), "named late");
		end(&run);
	}
}

/* Ranks that send each other tokens for their experts do the same work. So all of them are compared, and the slow one
 * is named as soon as it is in a job without experts: of the one rank that shares no AlltoAll with it, it takes a dozen
 * steps. */
Test(straggler, among_ranks_with_experts_is_named_as_soon_as_among_others)
{
	static const int experts[] = { 0, 2, 4, 8 };
	for (size_t i = 0; i < sizeof(experts) / sizeof(*experts); i++) {
		struct history_job job = eight;
		job.expert_parallel = experts[i];
		job.faults[0] = (struct history_fault){ .kind = FAULT_DEVICE, .rank = 5, .first_step = 14, .ms = 150 };
		struct played run = play(&job);
		const struct history_finding *finding = opened(&run, RW_KIND_STRAGGLER, 5);
		cr_assert(finding, "%d ranks with experts", experts[i]);
		cr_expect_lt((double)finding->time_ns / 1e6, history_step_ms(run.history, 20), "%d ranks with experts", experts[i]);
		cr_expect_eq(loud(&run), 1, "%d ranks with experts", experts[i]);
		end(&run);
	}
}

/* Ranks whose calls do not meet wait for that. What a rank was late by before stays its own. */
Test(straggler, after_calls_have_differed_is_no_finding_of_its_own)
{
	static const int late_from[] = { 18, 12 };
	for (size_t i = 0; i < sizeof(late_from) / sizeof(*late_from); i++) {
		struct history_job job = eight;
		job.faults[0] = (struct history_fault){ .kind = FAULT_COUNT, .rank = 3, .first_step = 18, .last_step = 18 };
		job.faults[1] = (struct history_fault){ .kind = FAULT_DEVICE, .rank = 3, .first_step = late_from[i], .ms = 150 };
		struct played run = play(&job);
		cr_expect(opened(&run, RW_KIND_DESYNC, 3));
		cr_expect_eq(opened(&run, RW_KIND_STRAGGLER, 3) != NULL, late_from[i] < 18, "late from step %d", late_from[i]);
		end(&run);
	}
}
