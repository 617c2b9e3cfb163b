/* SPDX-License-Identifier: MIT */
/* Which findings are one incident, and how its story goes. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "analysis/model.h"
#include "tests/unit/analysis/jobs/history.h"
#include "tests/unit/analysis/jobs/scanned.h"

enum { HEARD = 32, RANKS = 8 };

#define EXIT(code) ((code) << 8)

/* The last revision of each finding. */
struct heard {
	struct history *history;
	struct {
		char id[24], incident[24], story[1024];
		enum rw_kind kind;
		enum rw_finding_state state;
		enum rw_confidence last_sure;
		enum rw_cause_class class_;
		int32_t rank;
		size_t links;
	} findings[HEARD];
	size_t count, told;
};

static void hear(void *argument, const struct rw_finding *finding)
{
	struct heard *heard = argument;
	size_t at = 0, used = 0;

	if (heard->history)
		history_emit(heard->history, finding);
	heard->told++;
	while (at < heard->count && strcmp(heard->findings[at].id, finding->id) != 0)
		at++;
	cr_assert_lt(at, HEARD);
	heard->count += at == heard->count;
	snprintf(heard->findings[at].id, sizeof(heard->findings[at].id), "%s", finding->id);
	snprintf(heard->findings[at].incident, sizeof(heard->findings[at].incident), "%s", finding->incident.id);
	heard->findings[at].kind = finding->kind;
	heard->findings[at].state = finding->state;
	heard->findings[at].class_ = finding->cause.class_;
	heard->findings[at].rank = finding->ranks[0];
	heard->findings[at].links = finding->incident.count;
	heard->findings[at].last_sure = finding->incident.links[finding->incident.count - 1].confidence;
	heard->findings[at].story[0] = '\0';
	for (size_t i = 0; i < finding->incident.count; i++)
		used += (size_t)snprintf(heard->findings[at].story + used, sizeof(heard->findings[at].story) - used, "%s%s",
					 i ? " > " : "", finding->incident.links[i].text);
}

static int find(const struct heard *heard, enum rw_kind kind)
{
	for (size_t i = 0; i < heard->count; i++)
		if (heard->findings[i].kind == kind)
			return (int)i;
	cr_assert_fail("no finding of kind %d among %zu", kind, heard->count);
	return -1;
}

static const struct history_job eight = {
	.ranks = RANKS, .steps = 30, .layers = 4, .compute_ms = 40, .jitter_ms = 2, .tail_ms = 8000
};

static uint64_t ns(double ms)
{
	return (uint64_t)(ms * 1e6);
}

static struct analysis *play(struct heard *heard, const struct history_job *job)
{
	*heard = (struct heard){ .history = history_new(job) };
	struct analysis *analysis = analysis_new(false, hear, heard);

	cr_assert(analysis);
	history_play(heard->history, analysis, 0);
	return analysis;
}

static void finish(struct heard *heard, struct analysis *analysis)
{
	analysis_free(analysis);
	history_free(heard->history);
}

/* All but one end at this time in this way, and it is noticed at once. */
static void end_others(struct analysis *analysis, int but, double at_ms, int status)
{
	for (int rank = 0; rank < RANKS; rank++) {
		if (rank == but)
			continue;
		analysis_set_life(analysis, 100 + (uint32_t)rank, status & 0xff00 ? ANALYSIS_EXITED : ANALYSIS_KILLED,
				  status, ns(at_ms));
		analysis_set_left(analysis, 100 + (uint32_t)rank, ns(at_ms));
	}
	analysis_tick(analysis, ns(at_ms + 100));
	analysis_tick(analysis, ns(at_ms + 1200));
}

Test(incident, a_finding_alone_is_its_own)
{
	struct history_job job = eight;
	struct heard heard;

	job.faults[0] = (struct history_fault){ .kind = FAULT_NEVER, .rank = 5, .first_step = 20, .evidence = EVIDENCE_SLEEP };
	struct analysis *analysis = play(&heard, &job);
	int hang = find(&heard, RW_KIND_HANG);
	cr_expect_str_eq(heard.findings[hang].incident, heard.findings[hang].id);
	cr_expect(strstr(heard.findings[hang].story, "rank 5 has not joined AllGather #"), "%s", heard.findings[hang].story);
	cr_expect(strstr(heard.findings[hang].story, " > ranks 0-4,6,7 wait for it"), "%s", heard.findings[hang].story);
	finish(&heard, analysis);
}

Test(incident, who_waited_and_how_that_ended_belongs_to_it)
{
	static const struct {
		double after_ms;
		int status;
		const char *end;
		enum rw_confidence sure;
	} cases[] = {
		{ 100300, SIGABRT, "until the first of them was killed by signal 6: the watchdog's 100 s were over", RW_CERTAIN },
		{ 100300, EXIT(1), "until the first of them exited with status 1: the watchdog's 100 s were over", RW_LIKELY },
		{ 30000, SIGTERM, "until the first of them was killed by signal 15", RW_LIKELY },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct history_job job = eight;
		struct heard heard;

		job.faults[0] = (struct history_fault){ .kind = FAULT_KILLED, .rank = 5, .first_step = 20 };
		struct analysis *analysis = play(&heard, &job);
		cr_assert_eq(heard.count, 1);
		size_t told = heard.told;
		end_others(analysis, 5, history_struck_ms(heard.history) + cases[i].after_ms, cases[i].status);
		const char *story = heard.findings[0].story;
		cr_expect_eq(heard.told, told + 1, "one update says how it ended, not %zu", heard.told - told);
		cr_expect_eq(strncmp(story, "rank 5 was killed by signal 9 > ranks 0-4,6,7 waited ", 53), 0, "%s", story);
		cr_assert_gt(strlen(story), strlen(cases[i].end));
		cr_expect_str_eq(story + strlen(story) - strlen(cases[i].end), cases[i].end);
		cr_expect_eq(heard.findings[0].last_sure, cases[i].sure);
		finish(&heard, analysis);
	}
}

Test(incident, a_straggler_that_does_not_come_any_more_is_one_story_if_its_cause_stayed)
{
	static const struct {
		enum history_evidence evidence;
		int rank;
		bool one;
	} cases[] = { { EVIDENCE_FSYNC, 2, true }, { EVIDENCE_SLEEP, 2, false }, { EVIDENCE_FSYNC, 6, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct history_job job = eight;
		struct heard heard;

		job.tail_ms = 40000; /* one that gets on, as far as anybody sees, is no hang for half a minute */
		job.faults[0] = (struct history_fault){
			.kind = FAULT_HOST, .rank = 2, .first_step = 8, .last_step = 19, .ms = 400, .evidence = EVIDENCE_FSYNC
		};
		job.faults[1] = (struct history_fault){
			.kind = FAULT_NEVER, .rank = cases[i].rank, .first_step = 20, .evidence = cases[i].evidence
		};
		struct analysis *analysis = play(&heard, &job);
		int late = find(&heard, RW_KIND_STRAGGLER), hang = find(&heard, RW_KIND_HANG);
		bool one = strcmp(heard.findings[late].incident, heard.findings[hang].incident) == 0;
		cr_expect_eq(one, cases[i].one, "case %zu: %s (cause %d, %d)", i, heard.findings[hang].story,
			     heard.findings[late].class_, heard.findings[hang].class_);
		if (one)
			cr_expect_str_eq(heard.findings[late].story, heard.findings[hang].story, "both tell all of it");
		finish(&heard, analysis);
	}
}

Test(incident, the_group_was_full_and_then_the_oom_killer_came)
{
	struct history_job job = eight;
	struct heard heard;

	job.faults[0] = (struct history_fault){ .kind = FAULT_KILLED, .rank = 5, .first_step = 20 };
	heard = (struct heard){ .history = history_new(&job) };
	struct analysis *analysis = analysis_new(false, hear, &heard);
	double struck_ms = history_struck_ms(heard.history), at_ms = struck_ms - 3000;
	struct analysis_memory_state state = { .process = 105, .group = 7, .limit = 1 << 30, .held = (1 << 30) - (1 << 20) };

	for (; at_ms < struck_ms - 500; at_ms += 100, state.hits++) {
		history_play(heard.history, analysis, at_ms);
		state.at_ns = ns(at_ms);
		cr_assert_eq(analysis_add_memory_state(analysis, &state), 0);
	}
	analysis_add_oom_kill(analysis, 4711 + 5, ns(struck_ms));
	history_play(heard.history, analysis, 0);
	int memory = find(&heard, RW_KIND_MEMORY), gone = find(&heard, RW_KIND_GONE);
	cr_expect_str_eq(heard.findings[memory].incident, heard.findings[gone].incident);
	cr_expect_str_eq(heard.findings[memory].story, heard.findings[gone].story);
	cr_expect(strstr(heard.findings[gone].story, " > rank 5 was killed by the OOM killer"), "%s",
		  heard.findings[gone].story);
	finish(&heard, analysis);
}

/* A job of one communicator, whose rank 3 makes a NaN. */
static void play_nan(struct scanned *job, struct heard *heard)
{
	*heard = (struct heard){ 0 };
	scanned_start(job, RANKS, RANKS);
	job->analysis->findings.emit = hear;
	job->analysis->findings.argument = heard;
	int world = scanned_communicator(job, "world", RANKS, 0, 1);
	for (int step = 0; step < 18; step++) {
		if (step == 6)
			job->bad[3] = true;
		for (uint64_t layer = 0; layer < 4; layer++)
			scanned_call(job, world, (struct scanned_call){ .function = RW_FUNCTION_ALL_GATHER, .count = 4096 + layer });
		for (uint64_t layer = 0; layer < 4; layer++)
			scanned_call(job, world, (struct scanned_call){ .function = RW_FUNCTION_REDUCE_SCATTER, .count = 8192 + layer,
									.reduction = RW_OPERATOR_SUM });
		scanned_call(job, world, (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .count = 1 });
		scanned_tick(job, 100);
	}
	scanned_tick(job, 1000);
	cr_assert_eq(heard->count, 1, "%zu findings: %s", heard->count, heard->findings[1].story);
	cr_assert_eq(heard->findings[0].kind, RW_KIND_NAN);
}

static void leave(struct scanned *job, int rank, int status, uint64_t after_ns)
{
	analysis_set_life(job->analysis, (uint32_t)rank + 1,
			  status & 0xff00 || !status ? ANALYSIS_EXITED : ANALYSIS_KILLED, status,
			  job->now_ns + after_ns);
	analysis_set_left(job->analysis, (uint32_t)rank + 1, job->now_ns + after_ns);
}

Test(incident, the_rank_that_made_a_nan_fails_and_the_launcher_ends_the_rest)
{
	static const struct {
		int first, status;
		uint64_t after_ns;
		const char *end;
	} cases[] = {
		{ 3, EXIT(1), 1000000, " > rank 3 exited with status 1, before any other" },
		{ 3, SIGABRT, 1000000, " > rank 3 was killed by signal 6, before any other" },
		{ 3, SIGKILL, 1000000, NULL },              /* somebody else did that */
		{ 3, EXIT(1), 300000000000, NULL },         /* long after */
		{ 5, SIGSEGV, 1000000, NULL },              /* another rank, and a crash of its own */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scanned job;
		struct heard heard;

		play_nan(&job, &heard);
		leave(&job, cases[i].first, cases[i].status, cases[i].after_ns);
		for (int rank = 0; rank < RANKS; rank++)
			if (rank != cases[i].first)
				leave(&job, rank, SIGTERM, cases[i].after_ns + 700000000);
		job.now_ns += cases[i].after_ns + 800000000;
		scanned_tick(&job, 300);
		const char *story = heard.findings[0].story, *end = strstr(story, " > ");
		if (cases[i].end)
			cr_expect(end && strcmp(end, cases[i].end) == 0, "case %zu: %s", i, story);
		else
			cr_expect_not(end, "case %zu: %s", i, story);
		scanned_free(&job);
	}
}
