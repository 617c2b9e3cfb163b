/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "tests/unit/analysis/jobs/history.h"

enum { RANKS = 8, FIRST = 5 };

#define EXIT(code) ((code) << 8)
#define NOT_SEEN (-1)

/* How the ranks of a job end: the first at 0 ms, the others from after_ms on, one every spread_ms. */
struct plan {
	const char *name;
	int first, others; /* statuses; NOT_SEEN: boxes alone */
	double after_ms, spread_ms;
	double stale_ms;  /* so old is a last heartbeat when its process ends */
	double seen_after_ms; /* so late the end of each process is noticed */
	bool told;
	unsigned int oom; /* bits of ranks that the kernel log says the OOM killer has killed */
	double oom_ms;    /* after the first's end */
};

static const struct history_job eight = {
	.ranks = RANKS, .steps = 30, .layers = 4, .compute_ms = 40, .jitter_ms = 2, .tail_ms = 8000
};

static uint64_t ns(double ms)
{
	return ms > 0 ? (uint64_t)(ms * 1e6) : 0; /* nothing comes before the clock begins */
}

static void end_rank(struct analysis *analysis, const struct plan *plan, int rank, double at_ms, int status)
{
	analysis_process_id id = 100 + (uint32_t)rank;
	bool by_signal = status == NOT_SEEN || !(status & 0xff00);
	analysis_set_heartbeat(analysis, id, ns(at_ms - plan->stale_ms));
	analysis_set_life(analysis, id, by_signal ? ANALYSIS_KILLED : ANALYSIS_EXITED, status, ns(at_ms));
	if (status != NOT_SEEN)
		analysis_set_left(analysis, id, ns(at_ms + plan->seen_after_ms));
}

/* Everything that was found when `job` had played up to at_ms and then ended as planned, rank `first` before the
 * others. */
static size_t play(const struct history_job *job, const struct plan *plan, int first, double at_ms,
		   struct history_finding *last)
{
	struct history *history = history_new(job);
	struct analysis *analysis = analysis_new(plan->first == NOT_SEEN, history_emit, history);
	int seen = job->seen ? job->seen : job->ranks, nth = 0;
	size_t count;
	cr_assert(analysis);
	history_play(history, analysis, at_ms);
	at_ms += 10;
	end_rank(analysis, plan, first, at_ms, plan->first);
	for (int rank = 0; rank < seen; rank++)
		if (plan->oom >> rank & 1)
			analysis_add_oom_kill(analysis, 4711 + rank, ns(at_ms + plan->oom_ms));
	for (int rank = 0; rank < seen; rank++)
		if (rank != first)
			end_rank(analysis, plan, rank, at_ms + plan->after_ms + plan->spread_ms * nth++, plan->others);
	for (int i = 0; i < 30; i++)
		analysis_tick(analysis, ns(at_ms + 500 + i * 100));
	const struct history_finding *findings = history_findings(history, &count);
	if (count)
		*last = findings[count - 1];
	analysis_free(analysis);
	history_free(history);
	return count;
}

static double in_step(const struct history_job *job, int step)
{
	struct history *history = history_new(job);
	double at_ms = history_step_ms(history, step);
	history_free(history);
	return at_ms;
}

/* While nobody is in a collective for long: what counts is when and how the ranks end. */
Test(endings, the_first_is_told_only_where_times_and_manners_leave_no_other)
{
	static const struct plan plans[] = {
		{ "crash, then the others give up", SIGSEGV, SIGABRT, 60, 55, 4, 0, true },
		{ "crash, seen a tenth of a second later", SIGSEGV, SIGABRT, 60, 55, 4, 100, true },
		{ "killed, then the launcher kills all", SIGKILL, SIGKILL, 600, 0.5, 3, 0, true },
		{ "all killed, by one that lost its CPU after the first", SIGKILL, SIGKILL, 200, 0.5, 3, 0, false },
		{ "killed, the launcher ends all at once", SIGKILL, SIGTERM, 1, 0.1, 4, 0, true },
		{ "fails, the launcher ends all at once", EXIT(1), SIGTERM, 1, 0.1, 4, 0, true },
		{ "fails, others are ended through a shell", EXIT(1), EXIT(143), 100, 0.1, 4, 0, true },
		{ "bus error behind a shell", EXIT(135), SIGTERM, 100, 0.1, 4, 0, true },
		{ "the whole job is asked to end", SIGTERM, SIGTERM, 50, 1, 4, 0, false },
		{ "asked, and the slow ones are killed", SIGTERM, SIGKILL, 500, 1, 4, 0, false },
		{ "interrupted", SIGINT, SIGINT, 50, 0, 4, 0, false },
		{ "asked through a shell", EXIT(143), EXIT(143), 50, 0, 4, 0, false },
		{ "all killed within a millisecond", SIGKILL, SIGKILL, 0.5, 0.1, 4, 0, false },
		{ "all killed, noticed late", SIGKILL, SIGKILL, 20, 0.1, 4, 100, false },
		{ "killed one after the other", SIGKILL, SIGKILL, 50, 50, 4, 0, false },
		{ "each catches the signal and fails in its own time", EXIT(1), EXIT(1), 50, 20, 4, 0, false },
		{ "fails twice as long before the others as these are apart", EXIT(1), EXIT(1), 240, 20, 4, 0, true },
		{ "fails a microsecond less before them", EXIT(1), EXIT(1), 239.999, 20, 4, 0, false },
		{ "all come to their end", EXIT(0), EXIT(0), 50, 0, 4, 0, false },
		{ "one fails at the end of the job", EXIT(1), EXIT(0), 50, 0, 4, 0, false },
		{ "boxes alone, and nobody waits", NOT_SEEN, NOT_SEEN, 100, 0.5, 4, 0, false },
	};
	double at_ms = in_step(&eight, 20);
	for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
		struct history_finding last = { 0 };
		size_t count = play(&eight, &plans[i], FIRST, at_ms, &last);
		cr_expect_eq(count, plans[i].told, "%s: %zu findings: %s", plans[i].name, count, last.text);
		if (!count)
			continue;
		cr_expect_eq(last.rank, FIRST, "%s: rank %d", plans[i].name, last.rank);
		cr_expect_eq(last.kind, RW_KIND_GONE, "%s", plans[i].name);
		cr_expect_eq(last.severity, RW_CRITICAL, "%s", plans[i].name);
		cr_expect_eq(last.confidence, RW_LIKELY, "%s", plans[i].name);
		cr_expect_eq(last.class_, RW_CAUSE_GONE, "%s", plans[i].name);
	}
}

/* A warning about another rank is open: that rank was late, and ended nothing. */
Test(endings, a_warning_that_is_open_is_no_explanation)
{
	static const struct plan crash = { "crash", SIGSEGV, SIGABRT, 60, 55, 4, 0, true };
	struct history_job job = eight;
	struct history_finding last = { 0 };

	job.steps = 60;
	job.faults[0] = (struct history_fault){ FAULT_HOST, 1, .first_step = 8, .ms = 200, .evidence = EVIDENCE_SLEEP };
	cr_assert_geq(play(&job, &crash, FIRST, in_step(&job, 50), &last), 2, "only %s", last.text);
	cr_expect_eq(last.kind, RW_KIND_GONE, "%s", last.text);
	cr_expect_eq(last.rank, FIRST, "%s", last.text);
}

/* How the others ended says who stands out of them only where there are several others. */
Test(endings, of_two_that_end_alike_neither_stands_out)
{
	static const struct {
		int ranks;
		struct plan plan;
	} jobs[] = {
		{ 2, { "killed, then the other one", SIGKILL, SIGKILL, 600, 0.5, 3, 0, false } },
		{ 3, { "killed, then the other two", SIGKILL, SIGKILL, 600, 0.5, 3, 0, true } },
		{ 2, { "fails, and the other one is asked to end", EXIT(1), SIGTERM, 100, 0.5, 4, 0, true } },
		{ 2, { "fails, then the other one does", EXIT(1), EXIT(1), 600, 0.5, 4, 0, false } },
		{ 3, { "fails, then the other two do", EXIT(1), EXIT(1), 600, 0.5, 4, 0, true } },
	};

	for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
		struct history_job job = eight;
		struct history_finding last = { 0 };

		job.ranks = jobs[i].ranks;
		size_t count = play(&job, &jobs[i].plan, 1, in_step(&job, 20), &last);
		cr_expect_eq(count, jobs[i].plan.told, "%d ranks, %s: %zu findings: %s", job.ranks, jobs[i].plan.name,
			     count, last.text);
		if (count)
			cr_expect_eq(last.rank, 1, "%d ranks, %s", job.ranks, jobs[i].plan.name);
	}
}

Test(endings, the_sentence_says_who_how_and_how_long_before_whom)
{
	static const struct plan plan = { "", SIGSEGV, SIGABRT, 60, 0, 4, 0, true };
	struct history_finding last = { 0 };
	cr_assert_eq(play(&eight, &plan, FIRST, in_step(&eight, 20), &last), 1);
	cr_expect_str_eq(last.text, "rank 5 was killed by signal 11, 60 ms before ranks 0-4,6,7 ended");
	cr_expect_eq(last.waiting_count, RANKS - 1);
}

/* Rank 5 does not come; the others wait for it, and that it is a hang is not known yet. */
Test(endings, who_gives_up_waiting_is_not_the_first_although_it_ends_first)
{
	static const struct {
		struct plan plan;
		int first;
	} cases[] = {
		{ { "watchdog of a waiting rank", SIGABRT, SIGKILL, 100, 1, 4, 0, false }, 0 },
		{ { "a waiting rank fails", EXIT(1), SIGTERM, 100, 1, 4, 0, false }, 0 },
		{ { "a waiting rank crashes", SIGSEGV, SIGTERM, 100, 1, 4, 0, true }, 0 },
		{ { "boxes alone, a waiting rank", NOT_SEEN, NOT_SEEN, 100, 1, 4, 0, false }, 0 },
		{ { "boxes alone, the missing rank", NOT_SEEN, NOT_SEEN, 100, 1, 4, 0, true }, FIRST },
		{ { "boxes alone, 50 ms", NOT_SEEN, NOT_SEEN, 50, 0.5, 4, 0, true }, FIRST },
		{ { "boxes alone, all at once", NOT_SEEN, NOT_SEEN, 20, 0.1, 4, 0, false }, FIRST },
		{ { "boxes alone, one after the other", NOT_SEEN, NOT_SEEN, 50, 40, 4, 0, false }, FIRST },
	};
	struct history_job job = eight;
	job.faults[0] = (struct history_fault){ .kind = FAULT_NEVER, .rank = FIRST, .first_step = 20 };
	double at_ms = in_step(&job, 20) + 300;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct history_finding last = { 0 };
		size_t count = play(&job, &cases[i].plan, cases[i].first, at_ms, &last);
		cr_expect_eq(count, cases[i].plan.told, "%s: %zu findings: %s", cases[i].plan.name, count, last.text);
		if (count)
			cr_expect_eq(last.rank, cases[i].first, "%s: rank %d", cases[i].plan.name, last.rank);
	}
}

/* Where the others, which waited for it, failed within a millisecond: in what order is not known. */
Test(endings, the_only_one_that_was_killed_is_named_where_the_others_waited_for_it)
{
	static const struct {
		struct plan plan;
		int first;
		enum rw_confidence confidence;
	} cases[] = {
		{ { "killed", SIGKILL, EXIT(1), -2, 0.1, 4, 0, true }, FIRST, RW_LIKELY },
		{ { "crashed, and others abort", SIGSEGV, EXIT(134), -2, 0.1, 4, 0, true }, FIRST, RW_LIKELY },
		{ { "boxes alone", NOT_SEEN, EXIT(1), -2, 0.1, 4, 0, true }, FIRST, RW_INCONCLUSIVE },
		{ { "exits", EXIT(3), EXIT(1), -2, 0.1, 4, 0, true }, FIRST, RW_INCONCLUSIVE },
		{ { "aborts", SIGABRT, EXIT(1), -2, 0.1, 4, 0, true }, FIRST, RW_INCONCLUSIVE },
		{ { "one that waited was killed", SIGKILL, EXIT(1), -2, 0.1, 4, 0, false }, 0, 0 },
		{ { "all were killed", SIGKILL, SIGKILL, -2, 0.1, 4, 0, false }, FIRST, 0 },
		{ { "others were asked to end", SIGKILL, SIGTERM, -2, 0.1, 4, 0, false }, FIRST, 0 },
		{ { "it was asked to end", SIGTERM, EXIT(1), -2, 0.1, 4, 0, false }, FIRST, 0 },
		{ { "others are through", SIGKILL, EXIT(0), -2, 0.1, 4, 0, false }, FIRST, 0 },
	};
	struct history_job job = eight;
	job.faults[0] = (struct history_fault){ .kind = FAULT_NEVER, .rank = FIRST, .first_step = 20 };
	double at_ms = in_step(&job, 20) + 300;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct history_finding last = { 0 };
		size_t count = play(&job, &cases[i].plan, cases[i].first, at_ms, &last);
		cr_expect_eq(count, cases[i].plan.told, "%s: %zu findings: %s", cases[i].plan.name, count, last.text);
		if (!count)
			continue;
		cr_expect_eq(last.rank, FIRST, "%s: %s", cases[i].plan.name, last.text);
		cr_expect_eq(last.confidence, cases[i].confidence, "%s", cases[i].plan.name);
		cr_expect(strstr(last.text, ", and ranks 0-4,6,7 ended with it"), "%s", last.text);
	}
}

/* What the kernel log says decides where times do not: all are killed at once, and one of them by the OOM killer. */
Test(endings, the_only_one_that_the_oom_killer_has_killed_is_named)
{
	static const struct {
		struct plan plan;
		const char *text;
	} cases[] = {
		{ { "at once", SIGKILL, SIGKILL, 0.5, 0.1, 4, 0, true, 1 << 3 },
		  "rank 3 was killed by the OOM killer, and ranks 0-2,4-7 ended with it" },
		{ { "boxes alone", NOT_SEEN, NOT_SEEN, 0.5, 0.1, 4, 0, true, 1 << 3 },
		  "rank 3 was killed by the OOM killer, and ranks 0-2,4-7 ended with it" },
		{ { "times tell the same", SIGKILL, SIGKILL, 600, 0.5, 3, 0, true, 1 << FIRST },
		  "rank 5 was killed by the OOM killer, 600 ms before ranks 0-4,6,7 ended" },
		{ { "two of them", SIGKILL, SIGKILL, 0.5, 0.1, 4, 0, false, 1 << 3 | 1 << 4 }, NULL },
		{ { "it was asked to end", SIGTERM, SIGTERM, 0.5, 0.1, 4, 0, false, 1 << 3 }, NULL },
		{ { "the same number, long ago", SIGKILL, SIGKILL, 0.5, 0.1, 4, 0, false, 1 << 3, -1e6 }, NULL },
		{ { "the same number, later", SIGKILL, SIGKILL, 0.5, 0.1, 4, 0, false, 1 << 3, 60000 }, NULL },
	};
	struct history_job job = eight;
	double at_ms = in_step(&job, 20);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct history_finding last = { 0 };
		size_t count = play(&job, &cases[i].plan, FIRST, at_ms, &last);
		cr_expect_eq(count, cases[i].plan.told, "%s: %zu findings: %s", cases[i].plan.name, count, last.text);
		if (!count)
			continue;
		cr_expect_str_eq(last.text, cases[i].text);
		cr_expect_eq(last.class_, RW_CAUSE_MEMORY);
		cr_expect_eq(last.confidence, RW_LIKELY);
	}
}

Test(endings, of_a_job_that_is_not_seen_whole_only_a_crash_is_told)
{
	static const struct plan plans[] = {
		{ "killed", SIGKILL, SIGTERM, 100, 0.5, 4, 0, false },
		{ "fails", EXIT(1), SIGTERM, 100, 0.5, 4, 0, false },
		{ "crash", SIGSEGV, SIGTERM, 100, 0.5, 4, 0, true },
	};
	struct history_job job = eight;
	job.seen = 4;
	double at_ms = in_step(&job, 20);
	for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
		struct history_finding last = { 0 };
		size_t count = play(&job, &plans[i], 2, at_ms, &last);
		cr_expect_eq(count, plans[i].told, "%s: %zu findings: %s", plans[i].name, count, last.text);
	}
}

Test(endings, nothing_is_said_while_a_process_is_left_or_its_status_may_still_come)
{
	static const struct plan plan = { "", SIGSEGV, SIGTERM, 60, 0, 4, 0, true };
	struct history *history = history_new(&eight);
	struct analysis *analysis = analysis_new(false, history_emit, history);
	double at_ms = history_step_ms(history, 20);
	size_t count;
	history_play(history, analysis, at_ms);
	for (int rank = 0; rank < RANKS; rank++)
		if (rank != 3)
			end_rank(analysis, &plan, rank, at_ms + (rank == FIRST ? 0 : 60), rank == FIRST ? SIGSEGV : SIGTERM);
	analysis_tick(analysis, ns(at_ms + 200));
	analysis_set_life(analysis, 103, ANALYSIS_KILLED, -1, ns(at_ms + 60));
	analysis_tick(analysis, ns(at_ms + 300));
	history_findings(history, &count);
	cr_expect_eq(count, 0);
	end_rank(analysis, &plan, 3, at_ms + 60, SIGTERM);
	analysis_tick(analysis, ns(at_ms + 400));
	history_findings(history, &count);
	cr_expect_eq(count, 1);
	analysis_free(analysis);
	history_free(history);
}
