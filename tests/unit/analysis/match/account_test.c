/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>

#include "analysis/host/evidence.h"
#include "analysis/model.h"
#include "tests/unit/analysis/jobs/adding_up.h"
#include "tests/unit/analysis/jobs/played.h"
#include "tests/unit/analysis/jobs/seeds.h"

static struct analysis_account account_of(const struct played *run)
{
	struct analysis_account told;
	analysis_tell_account(run->analysis, &told);
	return told;
}

static void expect_sum(const struct played *run, const char *what, unsigned seed)
{
	struct analysis_account told = account_of(run);
	uint32_t ranks;
	cr_assert(adding_up(stderr, run->analysis, &ranks), "%s, seed %u", what, seed);
	cr_expect_gt(ranks, 0, "%s, seed %u", what, seed);
	cr_expect_float_eq(told.own + told.wait + told.transfer + told.unseen, 1, 1e-9, "%s, seed %u", what, seed);
}

Test(account, adds_up_whatever_is_played)
{
	for (unsigned seed = 0; seed < seeds(400); seed++) {
		struct history_job job = { .ranks = 2 + (int)(seed % 4) * 2,
					   .steps = 12 + (int)(seed % 30),
					   .layers = 1 + (int)(seed % 5),
					   .compute_ms = 3 + seed % 50,
					   .jitter_ms = seed % 40,
					   .stall_chance = seed % 3 ? 0.1 : 0,
					   .stall_ms = 300,
					   .tensor_parallel = seed % 4 && seed % 2 && seed % 13 != 12 ? 2 : 0,
					   .runs_ahead = seed % 5 == 0,
					   .no_gpu_times = seed % 11 == 10,
					   .pipeline = seed % 13 == 12,
					   .seed = seed };
		job.faults[0] = (struct history_fault){ .kind = seed % 3 ? FAULT_HOST : FAULT_DEVICE,
							.rank = (int)seed % job.ranks,
							.first_step = 3,
							.ms = seed,
							.every = 1 + (int)seed % 7 };
		if (seed % 7 == 6)
			job.seen = job.ranks - 1;
		struct played run = play(&job);
		if (!job.no_gpu_times)
			expect_sum(&run, "a job", seed);
		end(&run);
	}
}

/* The slow rank, and whoever waits for it between operations, look alike then. */
Test(account, does_not_count_as_own_work_what_may_be_a_wait_for_a_signal)
{
	struct history_job job = { .ranks = 4, .steps = 40, .layers = 2, .compute_ms = 40, .one_sided = true };
	job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = 2, .first_step = 10, .ms = 40, .every = 1 };
	struct played run = play(&job);
	struct analysis_account told = account_of(&run);

	cr_expect_lt(told.own, 0.01, "%f", told.own);
	cr_expect_gt(told.unseen, 0.5, "%f", told.unseen);
	end(&run);
}

/* Eight ranks compute 320 ms a step; one stalls for 400 ms in one step of ten. */
Test(account, says_whom_the_others_waited_for_in_which_steps_and_why)
{
	for (int rank = 0; rank < 8; rank++) {
		struct history_job job = { .ranks = 8, .steps = 100, .layers = 4, .compute_ms = 40, .jitter_ms = 2 };
		job.faults[0] = (struct history_fault){ .kind = FAULT_HOST,
							.rank = rank,
							.first_step = 10,
							.ms = 400,
							.every = 10,
							.evidence = EVIDENCE_FSYNC };
		struct played run = play(&job);
		struct analysis_account told = account_of(&run);
		cr_assert_eq(told.loss_count, 1, "rank %d: %u", rank, told.loss_count);
		const struct analysis_loss *loss = &told.losses[0];
		double whole_ms = history_end_ms(run.history) - history_step_ms(run.history, 1);
		cr_expect_eq(loss->rank, rank, "%d", loss->rank);
		cr_expect_eq(loss->steps, 10, "%lu", (unsigned long)loss->steps);
		cr_expect_eq(loss->of_steps, 100, "%lu", (unsigned long)loss->of_steps);
		cr_expect_float_eq(loss->share, 4000 / whole_ms, 0.02, "%f of %f", loss->share, 4000 / whole_ms);
		cr_expect_float_eq(loss->step_ms, 400, 20, "%f", loss->step_ms);
		cr_expect_str_eq(loss->cause, "fsync(2)");
		cr_expect_str_eq(loss->path, "/slow/events.out.tfevents.0");
		cr_expect_not(loss->likely, "seen from its beginning to its end");
		cr_expect_float_eq(told.own, 1 - told.wait - told.transfer, 0.001, "nothing is unseen");
		end(&run);
	}
}

/* A rank comes 6 s late in one step, and so many have not run for nearly as long. */
static struct analysis_account account_of_paused(int paused, struct history_job job)
{
	struct played run = { .history = history_new(&job) };

	run.analysis = analysis_new(false, history_emit, run.history);
	double step_ms = history_step_ms(run.history, 30);
	struct rw_box_header box = { .pauses[1] = { (uint64_t)((step_ms + 100) * 1e6),
						    (uint64_t)((step_ms + 6000) * 1e6) } };
	history_play(run.history, run.analysis, step_ms + 50);
	for (int rank = 0; rank < paused; rank++)
		cr_assert_eq(analysis_set_interruptions(run.analysis, (analysis_process_id)rank + 100, &box,
							box.pauses[1].until_ns),
			     0);
	history_play(run.history, run.analysis, 0);
	run.findings = history_findings(run.history, &run.count);
	for (size_t i = 0; i < run.count; i++)
		cr_expect_neq(run.findings[i].kind, RW_KIND_STRAGGLER, "%d paused: %s", paused, run.findings[i].text);
	struct analysis_account told = account_of(&run);
	end(&run);
	return told;
}

Test(account, time_in_which_the_whole_job_was_stopped_is_nobodys)
{
	struct history_job job = { .ranks = 8, .steps = 60, .layers = 4, .compute_ms = 40, .jitter_ms = 2 };

	for (int kind = 0; kind < 2; kind++) {
		job.faults[0] = (struct history_fault){ .kind = kind ? FAULT_HOST : FAULT_DEVICE,
							.rank = 3,
							.first_step = 30,
							.last_step = 30,
							.ms = 6100 };
		struct analysis_account all = account_of_paused(8, job), some = account_of_paused(7, job);
		cr_assert_eq(some.loss_count, 1);
		cr_expect_eq(some.losses[0].rank, 3);
		cr_expect_float_eq(some.losses[0].step_ms, 6100, 100, "%f", some.losses[0].step_ms);
		cr_expect_eq(all.loss_count, 0);
		cr_expect_lt(all.wait, 0.03, "%f", all.wait);
		cr_expect_lt(all.unseen, 0.001, "%f", all.unseen);
		cr_expect_gt(all.own, 0.9, "%f", all.own);
		cr_expect_float_eq(all.own + all.wait + all.transfer + all.unseen, 1, 1e-9);
		job.hosts = 2; /* of which the other one may have run */
		job.seen = 6;
		cr_expect_gt(account_of_paused(6, job).wait + account_of_paused(6, job).unseen, 0.2);
		job.hosts = job.seen = 0;
	}
}

/* The thread that it waited for was not seen to wake it: the finding is `likely`, and so is what the account says. */
Test(account, says_that_a_cause_is_only_likely)
{
	static const enum history_evidence guessed[] = { EVIDENCE_FSYNC_GUESSED, EVIDENCE_SLEEP };

	for (size_t i = 0; i < sizeof(guessed) / sizeof(*guessed); i++) {
		struct history_job job = { .ranks = 8, .steps = 100, .layers = 4, .compute_ms = 40, .jitter_ms = 2 };
		job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = 3, .first_step = 10, .ms = 400, .every = 10,
							.evidence = guessed[i] };
		struct played run = play(&job);
		struct analysis_account told = account_of(&run);

		cr_assert_eq(told.loss_count, 1, "%zu", i);
		cr_expect_neq(told.losses[0].cause_class, RW_CAUSE_UNKNOWN, "%zu", i);
		cr_expect(told.losses[0].likely, "%zu: %s", i, told.losses[0].cause);
		end(&run);
	}
}

/* The finding saw the reason while it was new. That its evidence has been overwritten since then makes it no less sure,
 * here or there. */
Test(account, says_the_same_cause_as_the_finding_and_as_surely)
{
	struct history_job job = { .ranks = 8, .steps = 60, .layers = 4, .compute_ms = 40, .jitter_ms = 2 };
	job.faults[0] = (struct history_fault){
		.kind = FAULT_HOST, .rank = 3, .first_step = 10, .ms = 400, .evidence = EVIDENCE_FSYNC
	};
	struct played run = play(&job);

	cr_assert_gt(run.count, 0);
	cr_expect_eq(run.findings[0].kind, RW_KIND_STRAGGLER);
	cr_expect_eq(run.findings[0].confidence, RW_CERTAIN);
	for (uint64_t i = 0; i < EVIDENCE_ROOM; i++) {
		const struct analysis_wait wait = { .process = 103,
						    .level = RW_LEVEL_EBPF,
						    .tid = 9000,
						    .start_ns = UINT64_C(900000000000) + i * 10,
						    .end_ns = UINT64_C(900000000005) + i * 10,
						    .system_call = -1,
						    .fd = -1,
						    .state = 'S',
						    .thread = "worker" };
		cr_assert_eq(analysis_add_wait(run.analysis, &wait), 0);
	}
	struct analysis_account told = account_of(&run);
	cr_assert_eq(told.loss_count, 1);
	cr_expect_str_eq(told.losses[0].cause, "fsync(2)");
	cr_expect_str_eq(told.losses[0].path, "/slow/events.out.tfevents.0");
	cr_expect_not(told.losses[0].likely);
	end(&run);
}

/* The other rank of its tensor parallel group comes as late to all others, and is a victim. */
Test(account, names_no_victim_in_a_mesh)
{
	for (int width = 2; width <= 4; width *= 2)
		for (int rank = 0; rank < 8; rank++) {
			struct history_job job = { .ranks = 8,
						   .steps = 60,
						   .layers = 4,
						   .compute_ms = 20,
						   .jitter_ms = 1,
						   .tensor_parallel = width };
			job.faults[0] = (struct history_fault){
				.kind = FAULT_HOST, .rank = rank, .first_step = 4, .ms = 300, .every = 3
			};
			struct played run = play(&job);
			struct analysis_account told = account_of(&run);
			cr_assert_eq(told.loss_count, 1, "width %d rank %d: %u", width, rank, told.loss_count);
			cr_expect_eq(told.losses[0].rank, rank, "width %d rank %d: %d", width, rank,
				     told.losses[0].rank);
			expect_sum(&run, "mesh", (unsigned)rank);
			end(&run);
		}
}

/* 2 ms are below what one operation can show. */
Test(account, adds_up_what_no_single_operation_shows)
{
	for (unsigned seed = 0; seed < seeds(40); seed++) {
		struct history_job job = {
			.ranks = 8, .steps = 100, .layers = 20, .compute_ms = 1, .jitter_ms = 0.2, .seed = seed
		};
		job.faults[0] = (struct history_fault){
			.kind = FAULT_HOST_EACH, .rank = (int)(seed % 8), .first_step = 1, .ms = 2
		};
		struct played run = play(&job);
		struct analysis_account told = account_of(&run);
		cr_assert_eq(told.loss_count, 1, "seed %u: %u", seed, told.loss_count);
		cr_expect_eq(told.losses[0].rank, (int)(seed % 8), "seed %u: %d", seed, told.losses[0].rank);
		cr_expect(told.losses[0].spread_out);
		end(&run);
	}
}

Test(account, two_by_turns_are_both_told)
{
	struct history_job job = { .ranks = 8, .steps = 60, .layers = 4, .compute_ms = 10, .jitter_ms = 1 };
	job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = 2, .first_step = 5, .ms = 80, .every = 2 };
	job.faults[1] = (struct history_fault){ .kind = FAULT_HOST, .rank = 5, .first_step = 5, .ms = 80, .every = 3 };
	struct played run = play(&job);
	struct analysis_account told = account_of(&run);
	cr_assert_eq(told.loss_count, 2, "%u", told.loss_count);
	cr_expect_eq(told.losses[0].rank, 2);
	cr_expect_eq(told.losses[1].rank, 5);
	end(&run);
}

/* As where Python collects garbage on each rank in another step. */
static struct history_job in_turn(int ranks, double ms)
{
	struct history_job job = { .ranks = ranks, .steps = 100, .layers = 4, .compute_ms = 40, .jitter_ms = 2 };

	for (int i = 0; i < ranks; i++)
		job.faults[i] = (struct history_fault){ .kind = FAULT_HOST,
							.rank = i,
							.first_step = 2,
							.ms = ms,
							.every = ranks,
							.turn = i,
							.evidence = EVIDENCE_BUSY };
	return job;
}

Test(account, waiting_that_goes_round_is_told)
{
	for (int ranks = 4; ranks <= 8; ranks += 2) {
		struct history_job job = in_turn(ranks, 300);
		struct played run = play(&job);
		struct analysis_turns turns = account_of(&run).turns;

		cr_assert(turns.times >= 90 && turns.times <= 100, "%d: %u", ranks, turns.times);
		cr_expect_eq(account_of(&run).loss_count, 0);
		cr_expect_eq(turns.rank_count, (uint32_t)ranks);
		cr_expect_float_eq(turns.each_ms, 300, 30, "%d: %f", ranks, turns.each_ms);
		cr_expect(turns.share > 0.3 / 0.7 * (ranks - 1) / ranks * 0.8 && turns.share < 0.5, "%d: %f", ranks,
			  turns.share);
		cr_expect_eq(turns.by, RW_LATE_HOST);
		cr_expect_eq(turns.cause_class, RW_CAUSE_RUNNING, "%d: %d", ranks, turns.cause_class);
		cr_expect_eq(turns.caused, (uint32_t)ranks);
		cr_expect_eq(turns.seen, (uint32_t)ranks);
		cr_expect_eq(turns.collecting, 0);
		cr_expect_str_eq(turns.cause, "running on the CPU");
		end(&run);
	}
}

Test(account, who_collects_garbage_in_turn_is_told_to_do_that)
{
	struct history_job job = in_turn(8, 300);
	struct played run = play(&job);

	for (int rank = 0; rank < 8; rank++) {
		const struct account_rank *own = &run.analysis->account.ranks[rank];
		struct process *process = run.analysis->job.ranks[rank].process;

		for (uint32_t i = 0; i < 4 && rank; i++) {
			const struct cause_window *window = &own->windows[i];
			struct analysis_python seen = { .at_ns = (window->from_ns + window->to_ns) / 2,
							.tid = own->window_tid,
							.collecting = true };

			cr_assert_eq(python_looks_add(&process->python, &run.analysis->intern, &seen), 0);
		}
	}
	struct analysis_turns turns = account_of(&run).turns;
	cr_expect_eq(turns.collecting, 7, "%u", turns.collecting);
	end(&run);
}

Test(account, what_ranks_are_late_by_anyway_does_not_go_round)
{
	struct history_job job = in_turn(8, 25);
	struct played run = play(&job);

	cr_expect_eq(account_of(&run).turns.times, 0, "less than a tenth: %f", account_of(&run).turns.share);
	end(&run);
	job = in_turn(8, 300);
	job.faults[0].every = 2;
	run = play(&job);
	cr_expect_eq(account_of(&run).turns.times, 0, "one holds up the others in half of all steps");
	end(&run);
	job = in_turn(8, 300);
	job.steps = 15;
	run = play(&job);
	cr_expect_eq(account_of(&run).turns.times, 0, "too few steps");
	end(&run);
}

Test(account, where_everybody_is_late_in_turn_nobody_is_named)
{
	for (unsigned seed = 0; seed < seeds(200); seed++) {
		struct history_job job = { .ranks = 2 + (int)(seed % 4) * 2,
					   .steps = 60,
					   .layers = 3,
					   .compute_ms = 40,
					   .jitter_ms = 20,
					   .stall_chance = seed % 2 ? 0.05 : 0,
					   .stall_ms = 200,
					   .seed = seed };
		struct played run = play(&job);
		struct analysis_account told = account_of(&run);
		cr_expect_eq(told.loss_count, 0, "seed %u: rank %d, %f", seed, told.losses[0].rank,
			     told.losses[0].share);
		expect_sum(&run, "jitter", seed);
		end(&run);
	}
}

/* A short job in which most of the time is lost for one rank says why no finding names it; and that is never said of
 * one that is named. */
Test(account, says_why_who_is_waited_for_is_not_named)
{
	static const struct history_job long_job = { .ranks = 8, .steps = 60, .layers = 4, .compute_ms = 10, .jitter_ms = 1 };
	static const struct {
		const char *what;
		int ranks, steps, layers;
		double compute_ms;
		struct history_fault fault;
		enum analysis_unnamed unnamed;
	} cases[] = {
		{ "named", 8, 60, 4, 10,
		  { .kind = FAULT_HOST, .rank = 3, .first_step = 20, .ms = 200 }, ANALYSIS_NAMED },
		{ "of six steps", 8, 6, 4, 10,
		  { .kind = FAULT_HOST, .rank = 3, .first_step = 2, .ms = 200 }, ANALYSIS_UNNAMED_SHORT },
		{ "every other one of 16 steps", 8, 16, 4, 10,
		  { .kind = FAULT_HOST, .rank = 3, .first_step = 6, .ms = 200, .every = 2 }, ANALYSIS_UNNAMED_EARLY },
		{ "one step", 8, 60, 4, 10,
		  { .kind = FAULT_HOST, .rank = 3, .first_step = 30, .last_step = 30, .ms = 2000 }, ANALYSIS_UNNAMED_FEW },
		{ "three steps", 8, 60, 4, 10,
		  { .kind = FAULT_HOST, .rank = 3, .first_step = 10, .ms = 1000, .every = 19 }, ANALYSIS_UNNAMED_CHANCE },
		{ "one step that never comes again", 8, 1, 4, 10,
		  { .kind = FAULT_HOST, .rank = 3, .first_step = 1, .ms = 200 }, ANALYSIS_UNNAMED_STEPS },
		{ "short steps", 8, 100, 1, 5,
		  { .kind = FAULT_HOST, .rank = 3, .first_step = 20, .ms = 15 }, ANALYSIS_UNNAMED_LITTLE },
		{ "a little in each operation", 8, 24, 20, 1,
		  { .kind = FAULT_HOST_EACH, .rank = 3, .first_step = 1, .ms = 2 }, ANALYSIS_UNNAMED_SPREAD },
		{ "one other rank", 2, 60, 4, 10,
		  { .kind = FAULT_HOST, .rank = 1, .first_step = 20, .ms = 200, .every = 3 }, ANALYSIS_UNNAMED_ONE },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct history_job job = long_job;
		job.ranks = cases[i].ranks;
		job.steps = cases[i].steps;
		job.layers = cases[i].layers;
		job.compute_ms = cases[i].compute_ms;
		job.jitter_ms = cases[i].compute_ms / 10;
		job.faults[0] = cases[i].fault;
		struct played run = play(&job);
		struct analysis_account told = account_of(&run);
		bool named = false;
		for (size_t k = 0; k < run.count; k++)
			named |= run.findings[k].kind == RW_KIND_STRAGGLER && run.findings[k].rank == cases[i].fault.rank;
		cr_assert_eq(told.loss_count, 1, "%s: %u", cases[i].what, told.loss_count);
		cr_expect_eq(told.losses[0].rank, cases[i].fault.rank, "%s: %d", cases[i].what, told.losses[0].rank);
		cr_expect_eq(told.losses[0].unnamed, cases[i].unnamed, "%s: %d of %lu steps", cases[i].what, told.losses[0].unnamed,
			     (unsigned long)told.losses[0].compared);
		cr_expect_eq(told.losses[0].unnamed == ANALYSIS_NAMED, named, "%s", cases[i].what);
		end(&run);
	}
}

/* Some findings say that others wait for the rank, and it is named by them; others are about something else. */
Test(account, who_is_waited_for_is_named_by_findings_that_say_so_only)
{
	static const struct {
		enum rw_kind kind;
		enum analysis_unnamed unnamed;
	} cases[] = {
		{ RW_KIND_NAN, ANALYSIS_UNNAMED_CHANCE }, { RW_KIND_CORRUPTION, ANALYSIS_UNNAMED_CHANCE },
		{ RW_KIND_STRAGGLER, ANALYSIS_NAMED },    { RW_KIND_HANG, ANALYSIS_NAMED },
		{ RW_KIND_GONE, ANALYSIS_NAMED },
	};
	const struct history_job job = { .ranks = 8, .steps = 60, .layers = 4, .compute_ms = 10, .jitter_ms = 1,
					 .faults = { { .kind = FAULT_HOST, .rank = 3, .first_step = 10, .ms = 1000, .every = 19 } } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct played run = play(&job);
		struct record *record = record_new(&run.analysis->job, cases[i].kind, RW_SCOPE_RANK, &(uint32_t){ 3 }, 1);

		cr_assert_not_null(record);
		findings_tell(&run.analysis->findings, record, run.analysis->now_ns);
		struct analysis_account told = account_of(&run);
		cr_assert_eq(told.loss_count, 1);
		cr_expect_eq(told.losses[0].unnamed, cases[i].unnamed, "kind %d: %d", cases[i].kind, told.losses[0].unnamed);
		end(&run);
	}
}

/* Slow transfers, pipelines and what is not seen name nobody. */
Test(account, names_nobody_where_nobody_can_be_told)
{
	struct history_job job = { .ranks = 8, .steps = 40, .layers = 4, .compute_ms = 10, .jitter_ms = 1 };
	job.faults[0] = (struct history_fault){ .kind = FAULT_TRANSFER, .first_step = 10, .ms = 60 };
	struct played run = play(&job);
	struct analysis_account told = account_of(&run);
	cr_expect_eq(told.loss_count, 0, "rank %d: %f", told.losses[0].rank, told.losses[0].share);
	cr_expect_gt(told.transfer, 0.5, "%f", told.transfer);
	end(&run);

	job = (struct history_job){ .ranks = 4, .steps = 40, .compute_ms = 30, .jitter_ms = 1, .pipeline = true };
	run = play(&job);
	told = account_of(&run);
	cr_expect_eq(told.loss_count, 0, "rank %d: %f", told.losses[0].rank, told.losses[0].share);
	cr_expect_gt(told.unseen, 0.2, "%f", told.unseen);
	end(&run);

	job = (struct history_job){ .ranks = 8, .steps = 40, .layers = 4, .compute_ms = 10, .seen = 6 };
	job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = 7, .first_step = 5, .ms = 300, .every = 4 };
	run = play(&job);
	told = account_of(&run);
	cr_expect_eq(told.loss_count, 0, "rank %d: %f", told.losses[0].rank, told.losses[0].share);
	cr_expect_lt(told.wait, 0.02, "%f", told.wait);
	cr_expect_gt(told.unseen, 0.3, "%f", told.unseen);
	end(&run);
}

Test(account, without_gpu_times_nothing_is_known)
{
	struct history_job job = { .ranks = 8, .steps = 40, .layers = 4, .compute_ms = 10, .no_gpu_times = true };
	struct played run = play(&job);
	cr_expect_not(account_of(&run).known);
	end(&run);
}

/* Who watches the stretches. */
struct watcher {
	uint64_t sums[ANALYSIS_PARTS], until_ns[8], waited_for[8];
	uint32_t count, wrong;
};

static void take_stretch(void *argument, const struct analysis_stretch *stretch)
{
	struct watcher *watcher = argument;

	watcher->count++;
	cr_assert_lt(stretch->rank, 8);
	watcher->wrong += stretch->until_ns <= stretch->from_ns ||
			  (watcher->until_ns[stretch->rank] && stretch->from_ns != watcher->until_ns[stretch->rank]) ||
			  (stretch->part != ANALYSIS_WAIT && stretch->waited_for != ANALYSIS_NO_RANK) ||
			  stretch->waited_for == stretch->rank || stretch->world_rank < 0 || stretch->process == 0;
	watcher->until_ns[stretch->rank] = stretch->until_ns;
	watcher->sums[stretch->part] += stretch->until_ns - stretch->from_ns;
	if (stretch->waited_for < 8)
		watcher->waited_for[stretch->waited_for] += stretch->until_ns - stretch->from_ns;
}

static double share_of(const struct watcher *watcher, enum analysis_part part)
{
	double whole = 0;

	for (size_t i = 0; i < ANALYSIS_PARTS; i++)
		whole += (double)watcher->sums[i];
	return (double)watcher->sums[part] / whole;
}

Test(account, hands_on_each_stretch_once_in_order_and_they_are_what_it_sums)
{
	struct history_job job = { .ranks = 8, .steps = 40, .layers = 4, .compute_ms = 40, .jitter_ms = 2 };
	job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = 5, .first_step = 10, .ms = 400, .every = 5 };
	struct watcher watcher = { 0 };
	struct analysis_account told;
	struct history *history = history_new(&job);
	struct analysis *analysis = analysis_new(false, history_emit, history);

	analysis_watch_time(analysis, take_stretch, &watcher);
	history_play(history, analysis, 0);
	analysis_tell_account(analysis, &told);
	cr_expect_gt(watcher.count, 1000);
	cr_expect_eq(watcher.wrong, 0, "%u of %u", watcher.wrong, watcher.count);
	cr_expect_float_eq(share_of(&watcher, ANALYSIS_OWN), told.own, 1e-9);
	cr_expect_float_eq(share_of(&watcher, ANALYSIS_WAIT), told.wait, 1e-9);
	cr_expect_float_eq(share_of(&watcher, ANALYSIS_TRANSFER), told.transfer, 1e-9);
	cr_expect_float_eq(share_of(&watcher, ANALYSIS_UNSEEN), told.unseen, 1e-9);
	for (uint32_t rank = 0; rank < 8; rank++)
		cr_expect(rank == 5 || watcher.waited_for[rank] * 10 < watcher.waited_for[5], "rank %u", rank);
	cr_expect_gt(watcher.waited_for[5], UINT64_C(7) * 5 * 350000000);
	analysis_free(analysis);
	history_free(history);
}

/* What has no progress, or some that others may lack, is no wait that could be compared: it is unseen, not zero. */
Test(account, what_is_sampled_out_is_unseen)
{
	struct history_job job = { .ranks = 8, .steps = 100, .layers = 4, .compute_ms = 40, .jitter_ms = 2, .seed = 1 };
	double before = 0;
	static const int sampled[] = { 0, 2, 16 };
	for (size_t i = 0; i < sizeof(sampled) / sizeof(*sampled); i++) {
		job.sampled = sampled[i];
		struct played run = play(&job);
		expect_sum(&run, "sampled", (unsigned)sampled[i]);
		struct analysis_account told = account_of(&run);
		cr_expect(i ? told.unseen > before + 0.2 : told.unseen < 0.05, "1 in %d: %f", sampled[i], told.unseen);
		cr_expect_eq(told.left_out, told.unseen > 0.5, "1 in %d: %f", sampled[i], told.unseen);
		before = told.unseen;
		end(&run);
	}
}

static void tell(struct analysis *analysis, int rank, int communicator, double seen_ms, double done_ms)
{
	static uint64_t tickets[3], sequences[3][2], progress[3][2];
	struct rw_operation slot = {
		.ticket = ++tickets[rank],
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_TASK |
			 RW_KNOWN_STARTED | RW_KNOWN_DONE,
		.comm = (uint16_t)communicator,
		.function = RW_FUNCTION_ALL_REDUCE,
		.dtype = RW_DTYPE_BFLOAT16,
		.count = 4096,
		.sequence = sequences[rank][communicator]++,
		.api_tid = 1000,
		.root_or_peer = -1,
		.progress = ++progress[rank][communicator],
		.gpu_source = RW_GPU_SOURCE_WATERMARK,
		.started_seen_ns = (uint64_t)(seen_ms * 1e6),
		.done_seen_ns = (uint64_t)(done_ms * 1e6),
	};
	slot.api_ns = slot.launch_begin_ns = slot.launch_end_ns = slot.return_ns = slot.started_seen_ns - 1000000;
	cr_assert_eq(analysis_add_operation(analysis, (analysis_process_id)rank, &slot), 0);
}

/* All wait for rank 1 in one operation, and two of them go on to the next at once. Its last rank has looked a bit
 * earlier than rank 1 at the one before: to the others these two must not have changed places. */
Test(account, keeps_each_ranks_own_order)
{
	static struct rw_box_header box;
	struct analysis *analysis = analysis_new(false, NULL, NULL);
	struct analysis_account told;

	snprintf(box.host, sizeof(box.host), "a");
	box.world_size = 3;
	for (int rank = 0; rank < 3; rank++) {
		const struct rw_communicator all = { .id = 7, .rank = rank, .nranks = 3, .nnodes = 1, .created_ns = 1 },
					     two = { .id = 8, .rank = rank / 2, .nranks = 2, .nnodes = 1, .created_ns = 1 };
		box.world_rank = rank;
		cr_assert_eq(analysis_add_process(analysis, &(struct analysis_process){ .id = (analysis_process_id)rank,
											.pid = 100 + rank,
											.box = &box }), 0);
		cr_assert_eq(analysis_add_communicator(analysis, (analysis_process_id)rank, 0, &all), 0);
		if (rank != 1)
			cr_assert_eq(analysis_add_communicator(analysis, (analysis_process_id)rank, 1, &two), 0);
		tell(analysis, rank, 0, 1000, 1000);
	}
	tell(analysis, 1, 0, 1203, 1203);
	tell(analysis, 0, 0, 1100, 1201);
	tell(analysis, 2, 0, 1100, 1202);
	tell(analysis, 0, 1, 1201, 1205);
	tell(analysis, 2, 1, 1202, 1206);
	for (uint64_t now = 1000; now < 3000; now += 100)
		analysis_tick(analysis, now * 1000000);
	analysis_tell_account(analysis, &told);
	cr_expect_float_eq(told.wait, (101 + 102) / (205. + 203 + 206), 0.001, "%f", told.wait);
	cr_expect_float_eq(told.own, (100 + 203 + 100) / (205. + 203 + 206), 0.001, "%f", told.own);
	analysis_free(analysis);
}

static void say_nothing(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	(void)finding;
}

/* An operation of communicator 0, of both ranks, or of 1, of which each rank sees only itself. */
static void add_one(struct analysis *analysis, int rank, uint16_t communicator, uint64_t number, uint64_t came_ms,
		    uint64_t done_ms)
{
	const uint64_t ms = 1000000;
	struct rw_operation slot = {
		.ticket = 2 * number + communicator + 1,
		.progress = number + 1,
		.sequence = number,
		.comm = communicator,
		.count = 5,
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_TASK |
			 RW_KNOWN_STARTED | RW_KNOWN_DONE,
		.function = RW_FUNCTION_ALL_REDUCE,
		.root_or_peer = -1,
		.gpu_source = RW_GPU_SOURCE_WATERMARK,
	};

	slot.api_ns = slot.launch_begin_ns = slot.launch_end_ns = slot.return_ns = came_ms * ms - 500000;
	slot.started_seen_ns = came_ms * ms;
	slot.done_seen_ns = done_ms * ms;
	cr_assert_eq(analysis_add_operation(analysis, (analysis_process_id)rank, &slot), 0);
}

/* Rank 0 waits for rank 1 while, on another stream, it has come to an operation with a rank of another host already. */
Test(account, what_is_waited_for_beside_an_operation_that_is_not_seen_whole_is_no_work)
{
	static struct rw_box_header boxes[2];
	struct analysis *analysis = analysis_new(false, say_nothing, NULL);
	struct account_parts before = { 0 }; /* while it is not known yet who is not seen */
	const uint64_t ms = 1000000;

	for (int rank = 0; rank < 2; rank++) {
		boxes[rank] = (struct rw_box_header){ .host = "h", .job = "j", .created_ns = 1, .world_rank = rank, .world_size = 4 };
		const struct analysis_process process = { .id = (analysis_process_id)rank, .pid = 7 + rank, .box = &boxes[rank] };
		const struct rw_communicator both = { .id = 9, .rank = rank, .nranks = 2, .nnodes = 1, .created_ns = 1 };
		const struct rw_communicator across = {
			.id = 10 + (uint64_t)rank, .rank = 0, .nranks = 2, .nnodes = 2, .created_ns = 1
		};
		cr_assert_eq(analysis_add_process(analysis, &process), 0);
		cr_assert_eq(analysis_add_communicator(analysis, (analysis_process_id)rank, 0, &both), 0);
		cr_assert_eq(analysis_add_communicator(analysis, (analysis_process_id)rank, 1, &across), 0);
	}
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t at_ms = 1000 + 200 * i;
		add_one(analysis, 0, 0, i, at_ms, at_ms + 50);
		add_one(analysis, 0, 1, i, at_ms + 10, at_ms + 70);
		add_one(analysis, 1, 0, i, at_ms + 48, at_ms + 50);
		add_one(analysis, 1, 1, i, at_ms + 52, at_ms + 70);
		for (uint64_t k = 1; k <= 4; k++)
			analysis_tick(analysis, (at_ms + 50 * k) * ms);
		if (i == 40)
			before = analysis->account.ranks[0].whole.parts;
	}
	struct account_parts now = analysis->account.ranks[0].whole.parts;
	double all = (double)(account_sum(&now) - account_sum(&before)), own = (double)(now.own_ns - before.own_ns);
	cr_expect_float_eq(own / all, 130.0 / 200, 0.001, "%f", own / all);
	analysis_free(analysis);
}
