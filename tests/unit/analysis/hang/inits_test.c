/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "analysis/analysis.h"

enum { RANKS = 8, LATE = 5 };

struct told {
	int opened, closed, rank;
	enum rw_kind kind;
	enum rw_cause_class class_;
	enum rw_phase phase;
	enum rw_confidence confidence;
	enum rw_level level;
	int tid;
	enum rw_standing standing;
	size_t waiting;
	char text[256], cause[96], path[256], missing[256], advice[192];
};

static void note(void *argument, const struct rw_finding *finding)
{
	struct told *told = argument;

	told->opened += finding->state == RW_FINDING_OPEN;
	told->closed += finding->state == RW_FINDING_CLOSED;
	told->rank = finding->rank_count ? finding->ranks[0] : -1;
	told->standing = finding->standing;
	told->kind = finding->kind;
	told->class_ = finding->cause.class_;
	told->phase = finding->operation.phase;
	told->waiting = finding->late.waiting_count;
	told->confidence = finding->confidence;
	told->level = finding->level;
	told->tid = finding->cause.tid;
	snprintf(told->text, sizeof(told->text), "%s", finding->text);
	snprintf(told->advice, sizeof(told->advice), "%s", finding->advice ? finding->advice : "");
	snprintf(told->cause, sizeof(told->cause), "%s", finding->cause.text ? finding->cause.text : "");
	snprintf(told->path, sizeof(told->path), "%s", finding->cause.path ? finding->cause.path : "");
	snprintf(told->missing, sizeof(told->missing), "%s",
		 finding->missing_count ? finding->missing[finding->missing_count - 1] : "");
}

static uint64_t seconds(double value)
{
	return (uint64_t)(value * 1e9);
}

static void add_process(struct analysis *analysis, int rank, int claimed)
{
	struct rw_box_header box = { .world_rank = claimed, .world_size = RANKS, .host = "a", .job = "test" };
	struct analysis_process process = { .id = (analysis_process_id)rank + 1, .pid = 100 + rank, .box = &box };

	cr_assert_eq(analysis_add_process(analysis, &process), 0);
}

static void enter(struct analysis *analysis, int rank, int nranks)
{
	const struct rw_init init = { .since_ns = seconds(1), .id = 77, .nranks = nranks, .rank = rank % nranks };

	cr_assert_eq(analysis_set_init(analysis, (analysis_process_id)rank + 1, &init), 0);
}

/* All but the late rank wait in the init of a communicator of `nranks`. */
static struct analysis *open_init(struct told *told, bool post_mortem, int waiting, int nranks)
{
	struct analysis *analysis = analysis_new(post_mortem, note, told);

	for (int rank = 0; rank < waiting; rank++) {
		if (rank == LATE)
			continue;
		add_process(analysis, rank, rank);
		enter(analysis, rank, nranks);
	}
	return analysis;
}

/* What a look at the threads of a rank without a box shows; NULL: nobody looks. */
struct seen_wait {
	const char *name;
	int system_call;
	char state;
	const char *wait_channel, *path;
	enum rw_cause_class class_;
	const char *cause;
};

static void look_at_threads(struct analysis *analysis, const struct seen_wait *seen, double at)
{
	struct analysis_suspect suspects[4];

	if (!seen || !analysis_suspects(analysis, suspects, 4))
		return;
	cr_expect_eq(suspects[0].process, analysis_absent_process(LATE));
	cr_expect_eq(suspects[0].tid, 105);
	for (uint32_t tid = 105; tid < 108; tid++) {
		struct analysis_wait wait = { .process = suspects[0].process,
					      .kind = ANALYSIS_WAIT_SAMPLE,
					      .level = RW_LEVEL_PROC,
					      .tid = tid,
					      .start_ns = seconds(at),
					      .end_ns = seconds(at),
					      .state = tid == 105 ? seen->state : 'S',
					      .system_call = tid == 105 ? seen->system_call : SYS_epoll_pwait,
					      .fd = 7 };
		snprintf(wait.thread, sizeof(wait.thread), tid == 105 ? "python3" : "worker");
		snprintf(wait.wait_channel, sizeof(wait.wait_channel), "%s", tid == 105 ? seen->wait_channel : "ep_poll");
		snprintf(wait.path, sizeof(wait.path), "%s", tid == 105 ? seen->path : "");
		cr_assert_eq(analysis_add_wait(analysis, &wait), 0);
	}
}

static void pass_time_seeing(struct analysis *analysis, enum analysis_absence absence, const struct seen_wait *seen,
			     double from_s, double to_s)
{
	int32_t missing[RANKS];

	for (double at = from_s; at <= to_s; at += 1) {
		if (analysis_absentees(analysis, missing, RANKS) == 1 && missing[0] == LATE)
			analysis_set_absentee(analysis,
					      &(struct analysis_absentee){ .world_rank = LATE, .pid = 105, .tid = 105, .absence = absence },
					      seconds(at));
		analysis_tick(analysis, seconds(at));
		for (double look = at; seen && look < at + 1; look += 0.05)
			look_at_threads(analysis, seen, look);
	}
}

static void pass_time(struct analysis *analysis, enum analysis_absence absence, double from_s, double to_s)
{
	pass_time_seeing(analysis, absence, NULL, from_s, to_s);
}

Test(inits, the_rank_that_is_missing_is_named_by_what_it_does)
{
	static const struct {
		enum analysis_absence absence;
		int opened;
		enum rw_kind kind;
		enum rw_cause_class class_;
		const char *text;
	} cases[] = {
		{ ANALYSIS_ABSENT_UNKNOWN, 0, 0, 0, "" },
		{ ANALYSIS_ABSENT_BUSY, 0, 0, 0, "" },
		{ ANALYSIS_ABSENT_NONE, 1, RW_KIND_HANG, RW_CAUSE_UNKNOWN, "rank 5 has not arrived (no process of it was seen on" },
		{ ANALYSIS_ABSENT_ENDED, 1, RW_KIND_GONE, RW_CAUSE_GONE, "rank 5 has no process any more (pid 105 has ended): " },
		{ ANALYSIS_ABSENT_STOPPED, 1, RW_KIND_GONE, RW_CAUSE_STOPPED, "rank 5 was stopped: ranks 0-4,6,7" },
		{ ANALYSIS_ABSENT_IDLE, 1, RW_KIND_HANG, RW_CAUSE_UNKNOWN, "rank 5 has not arrived: ranks 0-4,6,7" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct told told = { 0 };
		struct analysis *analysis = open_init(&told, false, RANKS, RANKS);

		pass_time(analysis, cases[i].absence, 1, 40);
		cr_expect_eq(told.opened, cases[i].opened, "case %zu: %d", i, told.opened);
		cr_expect_eq(strncmp(told.text, cases[i].text, strlen(cases[i].text)), 0, "case %zu: %s", i, told.text);
		if (told.opened) {
			cr_expect_eq(told.rank, LATE);
			cr_expect_eq(told.kind, cases[i].kind);
			cr_expect_eq(told.class_, cases[i].class_);
			cr_expect_eq(told.phase, RW_PHASE_INIT);
			cr_expect_eq(told.waiting, RANKS - 1);
		}
		analysis_free(analysis);
	}
}

Test(inits, what_the_rank_waits_for_instead_is_its_cause)
{
	static const struct seen_wait cases[] = {
		{ "fsync", SYS_fsync, 'D', "jbd2_log_wait_commit", "/data/checkpoint.pt", RW_CAUSE_IO, "fsync(2)" },
		{ "a lock", SYS_futex, 'S', "futex_wait_queue", "", RW_CAUSE_LOCK, "futex(2)" },
		{ "sleep", SYS_clock_nanosleep, 'S', "hrtimer_nanosleep", "", RW_CAUSE_SLEEP, "clock_nanosleep(2)" },
		{ "a store", SYS_recvfrom, 'S', "tcp_recvmsg", "socket:[4711]", RW_CAUSE_SOCKET, "recvfrom(2)" },
		{ "its children", SYS_wait4, 'S', "do_wait", "", RW_CAUSE_PROCESS, "wait4(2)" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct told told = { 0 };
		struct analysis *analysis = open_init(&told, false, RANKS, RANKS);

		pass_time_seeing(analysis, ANALYSIS_ABSENT_IDLE, &cases[i], 1, 20);
		cr_expect_eq(told.opened, 1, "%s", cases[i].name);
		cr_expect_eq(told.rank, LATE);
		cr_expect_eq(told.kind, RW_KIND_HANG);
		cr_expect_eq(told.class_, cases[i].class_, "%s: %d", cases[i].name, told.class_);
		cr_expect_str_eq(told.cause, cases[i].cause, "%s: %s", cases[i].name, told.cause);
		cr_expect_eq(told.confidence, RW_LIKELY, "%s", cases[i].name);
		cr_expect_eq(told.level, RW_LEVEL_PROC);
		cr_expect_eq(told.tid, 105);
		cr_expect_str_eq(told.missing, "which of its threads has to call it: its main thread is assumed");
		if (*cases[i].path == '/')
			cr_expect_str_eq(told.path, cases[i].path);
		bool prepares = told.class_ != RW_CAUSE_LOCK && told.class_ != RW_CAUSE_SLEEP;
		cr_expect_eq(!strncmp(told.advice, "prepare data before the job", 27), prepares, "%s: %s",
			     cases[i].name, told.advice);
		cr_expect_not(strstr(told.advice, "inside the step"), "there is none yet: %s", told.advice);
		analysis_free(analysis);
	}
}

/* It loaded its data for five minutes: what it has waited for since counts. */
Test(inits, what_the_rank_did_while_it_got_on_is_not_its_cause)
{
	static const struct seen_wait reads = { "read",        SYS_read,    'D',      "folio_wait_bit",
						"/data/shard", RW_CAUSE_IO, "read(2)" };
	static const struct seen_wait sleeps = { "sleep", SYS_clock_nanosleep, 'S', "hrtimer_nanosleep",
						 "",      RW_CAUSE_SLEEP,      "" };
	struct told told = { 0 };
	struct analysis *analysis = open_init(&told, false, RANKS, RANKS);

	pass_time_seeing(analysis, ANALYSIS_ABSENT_BUSY, &reads, 1, 300);
	cr_expect_eq(told.opened, 0, "%s", told.text);
	pass_time_seeing(analysis, ANALYSIS_ABSENT_IDLE, &sleeps, 301, 320);
	cr_expect_eq(told.opened, 1);
	cr_expect_eq(told.class_, RW_CAUSE_SLEEP, "%s", told.cause);
	analysis_free(analysis);
}

/* The number of an earlier process of the rank says nothing of the next one. */
Test(inits, what_an_earlier_process_of_the_rank_waited_for_is_forgotten)
{
	static const struct seen_wait sleeps = { "sleep", SYS_clock_nanosleep, 'S', "hrtimer_nanosleep",
						 "",      RW_CAUSE_SLEEP,      "" };
	struct told told = { 0 };
	struct analysis *analysis = open_init(&told, false, RANKS, RANKS);

	pass_time_seeing(analysis, ANALYSIS_ABSENT_IDLE, &sleeps, 1, 8);
	for (double at = 9; at < 13; at++) {
		const struct analysis_absentee next = { .world_rank = LATE, .pid = 205, .tid = 205, .absence = ANALYSIS_ABSENT_IDLE };

		analysis_set_absentee(analysis, &next, seconds(at));
		analysis_tick(analysis, seconds(at));
	}
	cr_expect_eq(told.opened, 1);
	cr_expect_eq(told.class_, RW_CAUSE_UNKNOWN, "%s", told.cause);
	cr_expect_str_eq(told.missing, "what it waits for: its threads could not be sampled");
	const struct analysis_wait late = { .process = analysis_absent_process(LATE - 1), .start_ns = 1, .end_ns = 2 };
	cr_expect_neq(analysis_add_wait(analysis, &late), 0, "nobody waits for this rank");
	analysis_free(analysis);
}

/* Is a wait of the late rank taken, and is anybody to watch its threads? */
static bool has_process(struct analysis *analysis)
{
	const struct analysis_wait wait = { .process = analysis_absent_process(LATE),
					    .kind = ANALYSIS_WAIT_SAMPLE,
					    .level = RW_LEVEL_PROC,
					    .tid = 105,
					    .start_ns = seconds(3),
					    .end_ns = seconds(3),
					    .state = 'S',
					    .system_call = SYS_clock_nanosleep,
					    .fd = -1,
					    .thread = "python3" };
	struct analysis_suspect suspect = { 0 };
	bool watched = analysis_suspects(analysis, &suspect, 1) && suspect.process == wait.process;
	bool taken = analysis_add_wait(analysis, &wait) == 0;

	cr_expect_eq(taken, watched, "its waits are %staken, and its threads are %swatched", taken ? "" : "not ",
		     watched ? "" : "not ");
	return taken;
}

Test(inits, only_a_process_that_is_there_is_watched)
{
	static const struct {
		enum analysis_absence absence;
		int32_t pid;
		bool there;
	} cases[] = {
		{ ANALYSIS_ABSENT_UNKNOWN, 105, true }, { ANALYSIS_ABSENT_UNKNOWN, 0, false },
		{ ANALYSIS_ABSENT_NONE, 105, false },   { ANALYSIS_ABSENT_NONE, 0, false },
		{ ANALYSIS_ABSENT_ENDED, 105, false },  { ANALYSIS_ABSENT_ENDED, 0, false },
		{ ANALYSIS_ABSENT_STOPPED, 105, true }, { ANALYSIS_ABSENT_STOPPED, 0, false },
		{ ANALYSIS_ABSENT_BUSY, 105, true },    { ANALYSIS_ABSENT_BUSY, 0, false },
		{ ANALYSIS_ABSENT_IDLE, 105, true },    { ANALYSIS_ABSENT_IDLE, 206, true },
		{ ANALYSIS_ABSENT_IDLE, 0, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int seen_before = 0; seen_before < 2; seen_before++) {
			struct told told = { 0 };
			struct analysis *analysis = open_init(&told, false, RANKS, RANKS);

			if (seen_before)
				pass_time(analysis, ANALYSIS_ABSENT_IDLE, 1, 2);
			for (double at = 3; at < 6; at++) {
				analysis_set_absentee(analysis, &(struct analysis_absentee){ .world_rank = LATE, .pid = cases[i].pid,
						      .tid = cases[i].pid, .absence = cases[i].absence }, seconds(at));
				analysis_tick(analysis, seconds(at));
			}
			cr_expect_eq(has_process(analysis), cases[i].there, "case %zu, %sseen before", i, seen_before ? "" : "not ");
			analysis_free(analysis);
		}
}

/* A communicator of the whole world that is made later: the rank has a box, and the plugin's own samples are in it. */
Test(inits, a_rank_that_has_been_in_another_communicator_is_looked_at_by_its_box)
{
	struct told told = { 0 };
	struct analysis *analysis = open_init(&told, false, RANKS, RANKS);
	const struct rw_communicator before = { .id = 1, .rank = LATE, .nranks = RANKS, .nnodes = 1, .created_ns = 1 };
	const struct rw_operation operation = { .known = RW_KNOWN_IDENT | RW_KNOWN_API,
						.ticket = 1,
						.function = RW_FUNCTION_ALL_GATHER,
						.count = 1,
						.api_ns = seconds(0.5),
						.api_tid = 1105 };

	add_process(analysis, LATE, LATE);
	cr_assert_eq(analysis_add_communicator(analysis, LATE + 1, 0, &before), 0);
	cr_assert_eq(analysis_add_operation(analysis, LATE + 1, &operation), 0);
	for (double at = 1; at < 15; at++) {
		const struct analysis_absentee idle = { .world_rank = LATE, .pid = 105, .tid = 105, .absence = ANALYSIS_ABSENT_IDLE };

		analysis_set_absentee(analysis, &idle, seconds(at));
		analysis_tick(analysis, seconds(at));
		for (double look = at; look < at + 1; look += 0.05) {
			struct analysis_suspect suspect;

			cr_assert_eq(analysis_suspects(analysis, &suspect, 1), 1);
			cr_expect_eq(suspect.process, LATE + 1);
			cr_expect_eq(suspect.tid, 1105);
			const struct analysis_wait wait = { .process = LATE + 1,
							    .kind = ANALYSIS_WAIT_SAMPLE,
							    .level = RW_LEVEL_SELF,
							    .tid = 1105,
							    .thread = "trainer",
							    .start_ns = seconds(look),
							    .end_ns = seconds(look),
							    .state = 'S',
							    .system_call = SYS_clock_nanosleep,
							    .fd = -1,
							    .wait_channel = "hrtimer_nanosleep" };
			cr_assert_eq(analysis_add_wait(analysis, &wait), 0);
		}
	}
	cr_expect_eq(told.opened, 1);
	cr_expect_eq(told.class_, RW_CAUSE_SLEEP, "%s", told.cause);
	cr_expect_eq(told.tid, 1105);
	analysis_free(analysis);
}

Test(inits, a_rank_that_comes_in_time_or_gets_on_now_and_then_is_not_named)
{
	struct told told = { 0 };
	struct analysis *analysis = open_init(&told, false, RANKS, RANKS);

	for (int i = 0; i < 5; i++) {
		pass_time(analysis, ANALYSIS_ABSENT_IDLE, 1 + 10 * i, 9 + 10 * i);
		pass_time(analysis, ANALYSIS_ABSENT_BUSY, 10 + 10 * i, 10 + 10 * i);
	}
	add_process(analysis, LATE, LATE);
	enter(analysis, LATE, RANKS);
	pass_time(analysis, ANALYSIS_ABSENT_IDLE, 51, 90);
	cr_expect_eq(told.opened, 0, "%s", told.text);
	analysis_free(analysis);
}

Test(inits, the_finding_is_closed_when_the_rank_has_come)
{
	struct told told = { 0 };
	struct analysis *analysis = open_init(&told, false, RANKS, RANKS);

	pass_time(analysis, ANALYSIS_ABSENT_IDLE, 1, 15);
	cr_expect_eq(told.opened, 1);
	add_process(analysis, LATE, LATE);
	enter(analysis, LATE, RANKS);
	pass_time(analysis, ANALYSIS_ABSENT_IDLE, 16, 17);
	cr_expect_eq(told.closed, 1);
	analysis_free(analysis);
}

Test(inits, a_rank_that_is_started_late_is_no_finding_before_others_have_waited_long)
{
	struct told told = { 0 };
	struct analysis *analysis = open_init(&told, false, RANKS, RANKS);

	pass_time(analysis, ANALYSIS_ABSENT_NONE, 1, 25);
	cr_expect_eq(told.opened, 0, "%s", told.text);
	pass_time(analysis, ANALYSIS_ABSENT_NONE, 26, 40);
	cr_expect_eq(told.opened, 1);
	pass_time(analysis, ANALYSIS_ABSENT_BUSY, 41, 42);
	cr_expect_eq(told.closed, 1, "its process has come");
	analysis_free(analysis);
}

Test(inits, nobody_is_named_where_who_is_missing_is_not_certain)
{
	int32_t missing[RANKS];
	struct told told = { 0 };
	struct analysis *part = open_init(&told, false, RANKS, 4);
	struct analysis *few = open_init(&told, false, 3, RANKS);
	struct analysis *twice = open_init(&told, false, RANKS, RANKS);

	cr_expect_eq(analysis_absentees(part, missing, RANKS), 0, "not of the whole world");
	cr_expect_eq(analysis_absentees(few, missing, RANKS), 0, "those who wait are early");
	add_process(twice, LATE, 3);
	enter(twice, LATE, RANKS);
	cr_expect_eq(analysis_absentees(twice, missing, RANKS), 0, "two processes claim rank 3");
	analysis_free(part);
	analysis_free(few);
	analysis_free(twice);
}

Test(inits, a_rank_that_the_communicator_cannot_have_is_refused)
{
	struct told told = { 0 };
	struct analysis *analysis = open_init(&told, false, 3, RANKS);
	const struct rw_init behind = { .since_ns = seconds(1), .nranks = RANKS, .rank = RANKS },
			     last = { .since_ns = seconds(1), .nranks = RANKS, .rank = RANKS - 1 };

	cr_expect_eq(analysis_set_init(analysis, 1, &behind), -EINVAL);
	cr_expect_eq(analysis_set_init(analysis, 1, &last), 0);
	analysis_free(analysis);
}

enum { BIRTH = 77, OTHER_BIRTH = 78 };

/* All wait from 1 s on; the late rank has a black box, too, and ends at 3 s in the init of that id. */
static struct analysis *open_death(struct told *told, bool post_mortem, uint64_t id, bool has_heartbeat)
{
	struct analysis *analysis = open_init(told, post_mortem, RANKS, RANKS);
	const struct rw_init init = { .since_ns = seconds(1), .id = id, .nranks = RANKS, .rank = LATE };

	add_process(analysis, LATE, LATE);
	cr_assert_eq(analysis_set_init(analysis, LATE + 1, &init), 0);
	if (has_heartbeat)
		cr_assert_eq(analysis_set_heartbeat(analysis, LATE + 1, seconds(3)), 0);
	cr_assert_eq(analysis_set_life(analysis, LATE + 1, ANALYSIS_KILLED, -1, seconds(3)), 0);
	return analysis;
}

Test(inits, one_that_ended_in_it_is_named_from_its_black_box_alone)
{
	static const struct {
		bool post_mortem, has_heartbeat;
	} cases[] = { { false, false }, { true, true } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct told told = { 0 };
		struct analysis *analysis = open_death(&told, cases[i].post_mortem, BIRTH, cases[i].has_heartbeat);

		pass_time(analysis, ANALYSIS_ABSENT_UNKNOWN, 4, 12);
		cr_expect_eq(told.opened, 0, "%s", told.text);
		pass_time(analysis, ANALYSIS_ABSENT_UNKNOWN, 13, 14);
		cr_expect_eq(told.opened, 1);
		cr_expect_eq(told.rank, LATE);
		cr_expect_eq(told.kind, RW_KIND_GONE);
		cr_expect_eq(told.phase, RW_PHASE_INIT);
		cr_expect_eq(told.waiting, RANKS - 1);
		cr_expect_eq(strncmp(told.text, "rank 5 has no process any more (pid 105 has ended): ranks 0-4,6,7", 64), 0,
			     "%s", told.text);
		analysis_free(analysis);
	}
}

/* A whole job that ends within ten seconds after the first of it: whoever was first may not be the reason. */
Test(inits, one_that_ended_shortly_before_all_others_is_not_named)
{
	struct told told = { 0 };
	struct analysis *analysis = open_death(&told, true, BIRTH, true);

	pass_time(analysis, ANALYSIS_ABSENT_UNKNOWN, 4, 12);
	for (int rank = 0; rank < RANKS; rank++)
		if (rank != LATE)
			analysis_set_life(analysis, (analysis_process_id)rank + 1, ANALYSIS_KILLED, -1, seconds(12));
	pass_time(analysis, ANALYSIS_ABSENT_UNKNOWN, 13, 60);
	cr_expect_eq(told.opened, 0, "%s", told.text);
	analysis_free(analysis);
}

Test(inits, one_that_ended_elsewhere_is_not_named)
{
	struct told told = { 0 };
	struct analysis *analysis = open_death(&told, false, OTHER_BIRTH, true);

	pass_time(analysis, ANALYSIS_ABSENT_UNKNOWN, 4, 60);
	cr_expect_eq(told.opened, 0, "%s", told.text);
	analysis_free(analysis);
}

/* Boxes of processes without a sign of life in an init: one of them ended before the report was asked for, nobody knows
 * when. */
Test(inits, one_whose_end_has_no_time_is_named_only_while_the_others_are_seen_to_live)
{
	struct told told = { 0 };
	struct analysis *analysis = open_death(&told, true, BIRTH, false);

	pass_time(analysis, ANALYSIS_ABSENT_UNKNOWN, 4, 60);
	cr_expect_eq(told.opened, 0, "%s", told.text);
	analysis_report_inits(analysis, seconds(60));
	cr_expect_eq(told.opened, 1);
	cr_expect_eq(told.rank, LATE);
	analysis_free(analysis);
}

/* A rank that waits in an init, and its place there. */
struct place {
	int rank, id, nranks, comm_rank;
};

static struct analysis *stand(struct told *told, const struct place *places)
{
	struct analysis *analysis = analysis_new(false, note, told);

	for (int rank = 0; rank < RANKS; rank++)
		add_process(analysis, rank, rank);
	for (const struct place *place = places; place->nranks; place++) {
		const struct rw_init init = { .since_ns = seconds(1),
					      .id = (uint64_t)place->id,
					      .nranks = place->nranks,
					      .rank = place->comm_rank };

		cr_assert_eq(analysis_set_init(analysis, (analysis_process_id)place->rank + 1, &init), 0);
	}
	return analysis;
}

/* Everybody who is asked for is idle. Which ranks were asked for, a bit each. */
static unsigned int pass_idle(struct analysis *analysis, double to_s)
{
	unsigned int asked = 0;

	for (double at = 1; at <= to_s; at++) {
		int32_t missing[RANKS];
		size_t count = analysis_absentees(analysis, missing, RANKS);

		for (size_t i = 0; i < count && i < RANKS; i++) {
			asked |= 1u << missing[i];
			analysis_set_absentee(analysis,
					      &(struct analysis_absentee){ .world_rank = missing[i],
									   .pid = 100 + missing[i],
									   .tid = (uint32_t)(100 + missing[i]),
									   .absence = ANALYSIS_ABSENT_IDLE },
					      seconds(at));
		}
		analysis_tick(analysis, seconds(at));
	}
	return asked;
}

Test(inits, who_is_missing_in_a_part_of_the_world_follows_from_the_places_of_the_others)
{
	static const struct {
		const char *what;
		int missing; /* -1: nothing is known of it */
		struct place places[RANKS + 1];
	} cases[] = {
		{ "between its neighbours", 5, { { 4, 7, 4, 0 }, { 6, 7, 4, 2 }, { 7, 7, 4, 3 } } },
		{ "behind all others at the end of the world", 7, { { 5, 7, 3, 0 }, { 6, 7, 3, 1 } } },
		{ "before all others at its begin", 0, { { 1, 7, 3, 1 }, { 2, 7, 3, 2 } } },
		{ "at the distance of the others", 3, { { 1, 7, 4, 0 }, { 5, 7, 4, 2 }, { 7, 7, 4, 3 } } },
		{ "at their distance in front of them", 0, { { 2, 7, 4, 1 }, { 4, 7, 4, 2 }, { 6, 7, 4, 3 } } },
		{ "two at any distance are no proof", -1, { { 1, 7, 3, 0 }, { 3, 7, 3, 1 } } },
		{ "distances that differ are none", -1, { { 0, 7, 4, 0 }, { 1, 7, 4, 1 }, { 4, 7, 4, 3 } } },
		{ "one place shows no order", -1, { { 0, 7, 2, 0 } } },
		{ "another order", -1, { { 7, 7, 4, 0 }, { 6, 7, 4, 1 }, { 4, 7, 4, 3 } } },
		{ "too few ranks behind them", -1, { { 1, 7, 6, 0 }, { 3, 7, 6, 1 }, { 5, 7, 6, 2 } } },
		{ "too few ranks between them", -1, { { 4, 7, 4, 0 }, { 5, 7, 4, 2 }, { 6, 7, 4, 3 } } },
		{ "more are missing than have come", -1, { { 0, 7, 8, 0 }, { 1, 7, 8, 1 }, { 2, 7, 8, 2 } } },
		{ "two that say they are the same", -1, { { 4, 7, 4, 0 }, { 6, 7, 4, 2 }, { 7, 7, 4, 2 } } },
		{ "two that disagree about its size", -1, { { 4, 7, 4, 0 }, { 6, 7, 4, 2 }, { 7, 7, 5, 3 } } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct told told = { 0 };
		struct analysis *analysis = stand(&told, cases[i].places);
		unsigned int asked = pass_idle(analysis, 20);

		cr_expect_eq(asked, cases[i].missing < 0 ? 0 : 1u << cases[i].missing, "%s: asked for %#x", cases[i].what, asked);
		cr_expect_eq(told.opened, cases[i].missing >= 0, "%s: %s", cases[i].what, told.text);
		if (told.opened) {
			cr_expect_eq(told.rank, cases[i].missing, "%s: rank %d", cases[i].what, told.rank);
			cr_expect_eq(told.confidence, RW_LIKELY);
			cr_expect_eq(told.phase, RW_PHASE_INIT);
			cr_expect(strstr(told.missing, "whether the rank is one of the communicator's"), "%s", told.missing);
		}
		analysis_free(analysis);
	}
}

/* Rank 1 is missing in one init because it waits for rank 5 in another. */
Test(inits, who_waits_itself_is_not_the_one_to_be_named)
{
	static const struct place places[] = { { 0, 7, 4, 0 }, { 2, 7, 4, 2 }, { 3, 7, 4, 3 }, { 1, 8, 4, 0 }, { 3, 8, 4, 1 },
					       { 4, 9, 4, 0 }, { 6, 9, 4, 2 }, { 7, 9, 4, 3 }, { 0 } };
	struct told told = { 0 };
	struct analysis *analysis = stand(&told, places);

	cr_expect_eq(pass_idle(analysis, 20), 1u << 5);
	cr_expect_eq(told.opened, 1);
	cr_expect_eq(told.rank, 5);
	analysis_free(analysis);
}

Test(inits, ranks_that_make_communicators_in_another_order_are_a_circle_and_none_is_named)
{
	static const struct {
		const char *text;
		size_t waiting;
		struct place places[RANKS + 1];
	} cases[] = {
		{ "ranks 0,1 wait for each other: rank 0 in ncclCommInitRank of 8 ranks for rank 1, rank 1 in "
		  "ncclCommInitRank of 8 ranks for rank 0; for ",
		  2,
		  { { 0, 7, 8, 0 },
		    { 1, 8, 8, 1 },
		    { 2, 8, 8, 2 },
		    { 3, 8, 8, 3 },
		    { 4, 8, 8, 4 },
		    { 5, 8, 8, 5 },
		    { 6, 8, 8, 6 },
		    { 7, 8, 8, 7 } } },
		{ "ranks 5,7 wait for each other: rank 5 in ncclCommInitRank of 4 ranks for rank 7, rank 7 in "
		  "ncclCommInitRank of 4 ranks for rank 5; for ",
		  2,
		  { { 4, 7, 4, 0 }, { 6, 7, 4, 2 }, { 7, 7, 4, 3 }, { 1, 8, 4, 0 }, { 3, 8, 4, 1 }, { 5, 8, 4, 2 } } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct told told = { 0 };
		struct analysis *analysis = stand(&told, cases[i].places);

		pass_idle(analysis, 9);
		cr_expect_eq(told.opened, 0, "%zu: %s", i, told.text);
		pass_idle(analysis, 20);
		cr_expect_eq(told.opened, 1, "%zu: %d", i, told.opened);
		cr_expect_eq(told.rank, -1);
		cr_expect_eq(told.kind, RW_KIND_HANG);
		cr_expect_eq(told.standing, RW_STANDING_CIRCLE);
		cr_expect_eq(told.confidence, RW_INCONCLUSIVE);
		cr_expect_eq(told.waiting, cases[i].waiting);
		cr_expect_eq(strncmp(told.text, cases[i].text, strlen(cases[i].text)), 0, "%zu: %s", i, told.text);
		cr_expect_eq(told.closed, 0);
		for (const struct place *place = cases[i].places; place->nranks; place++)
			cr_assert_eq(analysis_set_init(analysis, (analysis_process_id)place->rank + 1, &(struct rw_init){ 0 }), 0);
		analysis_tick(analysis, seconds(21));
		cr_expect_eq(told.closed, 1, "%zu: it is over when their inits have returned", i);
		analysis_free(analysis);
	}
}

enum { PARENT = 55, SPLIT = 7 };

/* All ranks have a communicator of the ranks from `first` on, in steps of `stride`. splits: of each rank, as its box
 * counts them. */
static void add_parent(struct analysis *analysis, int first, int stride, const uint64_t splits[RANKS])
{
	int nranks = (RANKS - first + stride - 1) / stride;

	for (int rank = first; rank < RANKS; rank += stride) {
		const struct rw_communicator communicator = { .id = PARENT,
							      .rank = (rank - first) / stride,
							      .nranks = nranks,
							      .nnodes = 1,
							      .created_ns = 1,
							      .splits = splits[rank] };

		cr_assert_eq(analysis_add_communicator(analysis, (analysis_process_id)rank + 1, 0, &communicator), 0);
	}
}

static void split(struct analysis *analysis, int rank, int comm_rank, int nranks)
{
	const struct rw_init init = {
		.since_ns = seconds(1), .id = SPLIT, .nranks = nranks, .rank = comm_rank, .parent = PARENT
	};

	cr_assert_eq(analysis_set_init(analysis, (analysis_process_id)rank + 1, &init), 0);
}

Test(inits, a_rank_that_does_not_come_to_a_split_of_its_communicator_is_named)
{
	static const struct {
		const char *what;
		int first, stride, missing; /* -1: nothing is known of it */
		unsigned int waiting;       /* a bit each */
		const char *text;
		uint64_t splits[RANKS];
	} cases[] = {
		{ "of the whole world",
		  0,
		  1,
		  5,
		  0xdf,
		  "rank 5 has not arrived: ranks 0-4,6,7 have waited ",
		  { 2, 2, 2, 2, 2, 2, 2, 2 } },
		{ "of a part of it",
		  0,
		  2,
		  4,
		  0x45,
		  "rank 4 has not arrived: ranks 0,2,6 have waited ",
		  { 1, 0, 1, 0, 1, 0, 1, 0 } },
		{ "of a pair, of which places show nothing",
		  2,
		  5,
		  7,
		  0x04,
		  "rank 7 has not arrived: rank 2 has waited ",
		  { 0, 0, 1, 0, 0, 0, 0, 1 } },
		{ "that makes its first split of three",
		  0,
		  1,
		  5,
		  0xdf,
		  "rank 5 has not arrived: ranks 0-4,6,7 have waited ",
		  { 3, 3, 3, 3, 3, 1, 3, 3 } },
		{ "to which another rank has come and gone on", 0, 1, -1, 0x5f, "", { 2, 2, 2, 2, 2, 2, 2, 3 } },
		{ "to which it has come and gone on", 0, 1, -1, 0xdf, "", { 2, 2, 2, 2, 2, 3, 2, 2 } },
		{ "of a communicator that its interposer does not know",
		  0,
		  1,
		  -1,
		  0xdf,
		  "",
		  { 2, 2, 2, 2, 2, 0, 2, 2 } },
		{ "when more are missing than have come", 0, 1, -1, 0x03, "", { 2, 2, 2, 2, 2, 2, 2, 2 } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct told told = { 0 };
		struct analysis *analysis = stand(&told, (struct place[1]){ 0 });
		int nranks = (RANKS - cases[i].first + cases[i].stride - 1) / cases[i].stride;

		add_parent(analysis, cases[i].first, cases[i].stride, cases[i].splits);
		for (int rank = 0; rank < RANKS; rank++)
			if (cases[i].waiting >> rank & 1)
				split(analysis, rank, (rank - cases[i].first) / cases[i].stride, nranks);
		pass_idle(analysis, 9);
		cr_expect_eq(told.opened, 0, "%s: %s", cases[i].what, told.text);
		pass_idle(analysis, 20);
		cr_expect_eq(told.opened, cases[i].missing >= 0, "%s: %s", cases[i].what, told.text);
		if (told.opened) {
			cr_expect_eq(told.rank, cases[i].missing, "%s: rank %d", cases[i].what, told.rank);
			cr_expect_eq(told.confidence, RW_LIKELY);
			cr_expect_eq(told.phase, RW_PHASE_INIT);
			cr_expect_eq(strncmp(told.text, cases[i].text, strlen(cases[i].text)), 0, "%s: %s", cases[i].what, told.text);
			cr_expect(strstr(told.text, "for it in ncclCommSplit of "), "%s", told.text);
			cr_expect_not(strstr(told.missing, "whether the rank is one"), "the parent's ranks are known: %s", told.missing);
		}
		analysis_free(analysis);
	}
}

Test(inits, a_rank_that_does_not_come_to_a_suspend_or_resume_of_its_communicator_is_named)
{
	static const uint64_t once[RANKS] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	static const struct {
		enum rw_init_call call;
		const char *name;
	} calls[] = { { RW_INIT_CALL_SUSPEND, "for it in ncclCommSuspend of 8 ranks" },
		      { RW_INIT_CALL_RESUME, "for it in ncclCommResume of 8 ranks" } };

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		struct told told = { 0 };
		struct analysis *analysis = stand(&told, (struct place[1]){ 0 });

		add_parent(analysis, 0, 1, once);
		for (int rank = 0; rank < RANKS; rank++) {
			const struct rw_init init = { .since_ns = seconds(1), .id = SPLIT, .nranks = RANKS, .rank = rank, .parent = PARENT,
						      .call = calls[i].call };
			if (rank != LATE)
				cr_assert_eq(analysis_set_init(analysis, (analysis_process_id)rank + 1, &init), 0);
		}
		pass_idle(analysis, 40);
		cr_expect_eq(told.opened, 1, "told once, as the rank that is missing");
		cr_expect_eq(told.rank, LATE);
		cr_expect(strstr(told.text, calls[i].name), "%s", told.text);
		analysis_free(analysis);
	}
}

/* It has a box and has called nothing on its communicator yet: its main thread is looked at, as the thread of that
 * process. */
Test(inits, a_rank_that_splits_before_its_first_operation_is_looked_at_by_its_box)
{
	static const uint64_t once[RANKS] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	struct told told = { 0 };
	struct analysis *analysis = stand(&told, (struct place[1]){ 0 });

	add_parent(analysis, 0, 1, once);
	for (int rank = 0; rank < RANKS; rank++)
		if (rank != LATE)
			split(analysis, rank, rank, RANKS);
	for (double at = 1; at < 15; at++) {
		const struct analysis_absentee idle = { .world_rank = LATE, .pid = 105, .tid = 105, .absence = ANALYSIS_ABSENT_IDLE };
		struct analysis_suspect suspect;

		analysis_set_absentee(analysis, &idle, seconds(at));
		analysis_tick(analysis, seconds(at));
		cr_assert_eq(analysis_suspects(analysis, &suspect, 1), 1);
		cr_expect_eq(suspect.process, LATE + 1);
		cr_expect_eq(suspect.tid, 105);
		for (double look = at; look < at + 1; look += 0.05) {
			const struct analysis_wait wait = { .process = LATE + 1,
							    .kind = ANALYSIS_WAIT_SAMPLE,
							    .level = RW_LEVEL_PROC,
							    .tid = 105,
							    .thread = "python-main",
							    .start_ns = seconds(look),
							    .end_ns = seconds(look),
							    .state = 'S',
							    .system_call = SYS_clock_nanosleep,
							    .fd = -1,
							    .wait_channel = "hrtimer_nanosleep" };
			cr_assert_eq(analysis_add_wait(analysis, &wait), 0);
		}
	}
	cr_expect_eq(told.opened, 1);
	cr_expect_eq(told.class_, RW_CAUSE_SLEEP, "%s", told.cause);
	cr_expect(strstr(told.missing, "its main thread is assumed"), "%s", told.missing);
	analysis_free(analysis);
}

Test(inits, of_a_split_nobody_is_named_whose_parent_or_place_in_it_is_not_known)
{
	static const uint64_t once[RANKS] = { 1, 1, 1, 1, 1, 1, 1, 1 };

	for (int unlike = 0; unlike < 3; unlike++) {
		struct told told = { 0 };
		struct analysis *analysis = stand(&told, (struct place[1]){ 0 });

		if (unlike != 0)
			add_parent(analysis, 0, 1, once);
		for (int rank = 0; rank < RANKS; rank++)
			if (rank != LATE)
				split(analysis, rank, unlike == 1 && rank < 2 ? 1 - rank : rank, RANKS);
		if (unlike == 2) { /* the parent of one of them has ended */
			const struct rw_communicator ended = { .id = PARENT,
							       .rank = 3,
							       .nranks = RANKS,
							       .nnodes = 1,
							       .created_ns = 1,
							       .ended_ns = 2,
							       .splits = 1 };
			cr_assert_eq(analysis_add_communicator(analysis, 4, 0, &ended), 0);
		}
		pass_idle(analysis, 60);
		cr_expect_eq(told.opened, 0, "%d: %s", unlike, told.text);
		analysis_free(analysis);
	}
}

/* Rank 5 has a process here whose box does not have the parent: it may wait in the split without being seen there. */
Test(inits, a_rank_of_the_world_that_is_not_seen_in_the_parent_is_not_named)
{
	static const uint64_t once[RANKS] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	struct told told = { 0 };
	struct analysis *analysis = analysis_new(false, note, &told);

	for (int rank = 0; rank < RANKS; rank++) {
		const struct rw_communicator communicator = {
			.id = PARENT, .rank = rank, .nranks = RANKS, .nnodes = 1, .created_ns = 1, .splits = once[rank]
		};

		add_process(analysis, rank, rank);
		if (rank == LATE)
			continue;
		cr_assert_eq(analysis_add_communicator(analysis, (analysis_process_id)rank + 1, 0, &communicator), 0);
		split(analysis, rank, rank, RANKS);
	}
	pass_idle(analysis, 60);
	cr_expect_eq(told.opened, 0, "%s", told.text);
	analysis_free(analysis);
}

/* Rank 3 waits in another init for rank 5, so in the split everybody waits for rank 5, too. */
Test(inits, who_waits_elsewhere_is_not_the_one_to_be_named_for_a_split)
{
	static const uint64_t once[RANKS] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	static const struct place places[] = { { 3, 9, 4, 0 }, { 4, 9, 4, 1 }, { 6, 9, 4, 3 }, { 0 } };
	struct told told = { 0 };
	struct analysis *analysis = stand(&told, places);

	add_parent(analysis, 0, 1, once);
	for (int rank = 0; rank < RANKS; rank++)
		if (rank != 3 && rank != 4 && rank != LATE && rank != 6)
			split(analysis, rank, rank, RANKS);
	cr_expect_eq(pass_idle(analysis, 20), 1u << LATE);
	cr_expect_eq(told.opened, 1);
	cr_expect_eq(told.rank, LATE);
	analysis_free(analysis);
}

Test(inits, ranks_that_split_and_make_communicators_in_another_order_are_a_circle)
{
	static const uint64_t once[RANKS] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	static const struct place places[] = { { 4, 9, 4, 0 }, { 6, 9, 4, 2 }, { 7, 9, 4, 3 }, { 0 } };
	const char *text = "ranks 4,5 wait for each other: rank 4 in ncclCommInitRank of 4 ranks for rank 5, rank 5 in "
			   "ncclCommSplit of 8 ranks for rank 4; for ";
	struct told told = { 0 };
	struct analysis *analysis = stand(&told, places);

	add_parent(analysis, 0, 1, once);
	for (int rank = 0; rank < RANKS; rank++)
		if (rank < 4 || rank == 5)
			split(analysis, rank, rank, RANKS);
	pass_idle(analysis, 20);
	cr_expect_eq(told.opened, 1);
	cr_expect_eq(told.standing, RW_STANDING_CIRCLE);
	cr_expect_eq(strncmp(told.text, text, strlen(text)), 0, "%s", told.text);
	analysis_free(analysis);
}
