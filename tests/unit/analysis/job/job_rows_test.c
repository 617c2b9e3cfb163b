/* SPDX-License-Identifier: MIT */
/* How ranks of several hosts are compared by the rows that hosts report: what is lost, late, repeated or made up. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/findings.h"
#include "analysis/job/job_rows.h"
#include "analysis/job/late.h"
#include "analysis/job/transfers.h"
#include "analysis/job/world.h"

enum { RANKS = 8, PER_HOST = 2, COMM = 9, STEP_MS = 150, CALLS = 10, LETTERS = 4096 };
#define MS UINT64_C(1000000)

/* A batch of one host with one row on its way. */
struct letter {
	uint64_t at_ns;
	char host;
	uint64_t number, start;
	struct rw_message message;
};

static struct world world;
static struct job_rows rows;
static struct letter letters[LETTERS];
static uint32_t letter_count;
static uint64_t now_ns, row, numbers[RANKS], start, state;
static uint32_t calls; /* of a row */
static uint16_t steps;
static uint8_t function;
static struct rw_message_row totals[RANKS];
static int32_t present; /* the first so many ranks are there, … */
static uint64_t shared; /* … and end their rows in this communicator, but for pipelines */
static double own_ms[RANKS], transfer_ms, turns_ms; /* turns: two ranks in turn work so much longer in each row */

/* What becomes of the messages. */
static double lost;                                      /* this share of them … */
static uint64_t late_ns;                                 /* … others come so much later, at most … */
static bool twice;                                       /* … each a second time */
static void (*lie)(int32_t rank, struct letter *letter); /* NULL: nobody does */

/* xorshift64*, Vigna 2016. In [0, 1). */
static double drawn(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (double)(state * 0x2545f4914f6cdd1du >> 11) / 9007199254740992.0;
}

static void take(const struct letter *letter)
{
	struct {
		struct rw_batch header;
		struct rw_message message;
	} batch = { .header = { .magic = RW_BATCH_MAGIC,
				.version = RW_BATCH_VERSION,
				.count = 1,
				.number = letter->number,
				.start = letter->start,
				.job = "j" },
		    .message = letter->message };

	batch.header.host[0] = letter->host;
	cr_assert_eq(world_take(&world, &batch.header, &batch, now_ns), 0);
}

static char host_of(int32_t rank)
{
	return (char)('a' + rank / PER_HOST);
}

static void say(int32_t rank, const struct rw_message *message)
{
	const struct letter letter = {
		.host = host_of(rank), .number = numbers[rank / PER_HOST]++, .start = start, .message = *message
	};

	take(&letter);
}

static void join(int32_t rank, uint64_t comm, int32_t comm_rank, int32_t size, bool sends)
{
	say(rank, &(struct rw_message){ .type = RW_MESSAGE_MEMBER,
					.rank = rank,
					.member = { .comm = comm,
						    .size = size,
						    .comm_rank = comm_rank,
						    .flags = sends ? RW_MESSAGE_SENDS : 0 } });
}

static void begin_ranks(uint8_t sending)
{
	now_ns = 1000 * 1000 * MS;
	state = 88172645463325252;
	start = 7;
	row = 20;
	calls = CALLS;
	steps = 1;
	present = RANKS;
	shared = COMM;
	function = RW_FUNCTION_ALL_GATHER;
	lost = 0;
	late_ns = 0;
	twice = false;
	transfer_ms = 30;
	turns_ms = 0;
	lie = NULL;
	letter_count = 0;
	memset(numbers, 0, sizeof(numbers));
	memset(totals, 0, sizeof(totals));
	world_begin(&world, 0, now_ns);
	for (int32_t i = 0; i < RANKS; i++) {
		own_ms[i] = 80;
		say(i, &(struct rw_message){
			   .type = RW_MESSAGE_RANK,
			   .rank = i,
			   .of_rank = { .pid = 100 + i, .world_size = RANKS, .exit_status = -1, .sending = sending } });
	}
}

static void begin(void)
{
	begin_ranks(0);
	for (int32_t i = 0; i < RANKS; i++)
		join(i, COMM, i, RANKS, false);
}

static void leave(int32_t rank)
{
	say(rank, &(struct rw_message){ .type = RW_MESSAGE_MEMBER,
					.rank = rank,
					.member = { .comm = COMM, .size = RANKS, .comm_rank = rank, .flags = RW_MESSAGE_LEFT } });
}

/* The last host's ranks leave, and the others go on in another communicator. */
static void shrink(void)
{
	for (int32_t i = 0; i < RANKS; i++)
		leave(i);
	present = RANKS - PER_HOST;
	shared = COMM + 1;
	for (int32_t i = 0; i < present; i++)
		join(i, shared, i, present, false);
}

/* Two stages: ranks 0, 1, 4, 5 and 2, 3, 6, 7, each of two communicators of two replicas. */
static void begin_pipeline(void)
{
	begin_ranks(1);
	for (int32_t i = 0; i < RANKS; i++) {
		join(i, 100 + (uint64_t)(i / 4 * 2 + i % 2), i / 2 % 2, 2, true);
		join(i, COMM + (uint64_t)i % 4, i / 4, 2, false);
	}
}

static bool pipelined(void)
{
	return world.comm_count > 2;
}

static void end(void)
{
	job_rows_forget(&rows, &world);
	world_free(&world);
	world = (struct world){ 0 };
}

static void post(int32_t rank)
{
	struct letter letter = { .at_ns = now_ns + (uint64_t)(drawn() * (double)late_ns),
				 .host = host_of(rank),
				 .number = numbers[rank / PER_HOST]++,
				 .start = start,
				 .message = { .type = RW_MESSAGE_ROW,
					      .function = function,
					      .rank = rank,
					      .row = totals[rank] } };

	letter.message.row.comm = pipelined() ? COMM + (uint64_t)rank % 4 : shared;
	letter.message.row.row = (uint32_t)row;
	letter.message.row.calls = calls;
	letter.message.row.steps = steps;
	if (lie)
		lie(rank, &letter);
	if (drawn() < lost || !letter.host)
		return;
	for (int i = 0; i < (twice ? 2 : 1); i++) {
		cr_assert_lt(letter_count, LETTERS);
		letters[letter_count++] = letter;
		letter.at_ns += 1000 * MS;
	}
}

static void deliver(void)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < letter_count; i++) {
		if (letters[i].at_ns <= now_ns)
			take(&letters[i]);
		else
			letters[kept++] = letters[i];
	}
	letter_count = kept;
	job_rows_tick(&rows, &world, now_ns);
}

enum { COMPUTED_MS = 84 /* by its GPU, of a rank's own work; what is more is its host's */ };

/* All ranks end it together; whoever works less waits. */
static void play_row(void)
{
	double end_ms = 0, owns_ms[RANKS], times = (double)calls / CALLS;

	for (int i = 0; i < present; i++) {
		owns_ms[i] = (own_ms[i] + 3 * sin((double)row * (i + 1.3))) * times;
		end_ms = fmax(end_ms, owns_ms[i]);
	}
	for (uint64_t i = 0; i < 2; i++)
		owns_ms[(row + i) % (uint64_t)present] += turns_ms;
	end_ms += transfer_ms * times + 2 * turns_ms;
	row++;
	now_ns += (uint64_t)(end_ms * 1e6);
	for (int32_t i = 0; i < present; i++) {
		totals[i].own_us += (uint32_t)(owns_ms[i] * 1000);
		totals[i].inside_us += (uint32_t)((end_ms - owns_ms[i]) * 1000);
		totals[i].device_us += (uint32_t)(fmin(owns_ms[i], COMPUTED_MS) * 1000);
		totals[i].host_us += (uint32_t)(fmax(owns_ms[i] - COMPUTED_MS, 0) * 1000);
		totals[i].operations += 21;
		post(i);
	}
	deliver();
}

static void play(int count)
{
	while (count--)
		play_row();
}

static uint32_t suspects(void)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < RANKS; i++) {
		struct job_rows_view view;
		found |= job_rows_look(&rows, &world, i, now_ns, &view) && view.late ? 1u << i : 0;
	}
	return found;
}

static int rows_until_found(int most)
{
	for (int i = 1; i <= most; i++) {
		play_row();
		if (suspects())
			return i;
	}
	return 0;
}

Test(job_rows, a_rank_that_becomes_late_is_found_after_six_rows, .init = begin, .fini = end)
{
	struct job_rows_view view;

	play(20);
	cr_expect_eq(suspects(), 0);
	own_ms[5] += 45;
	cr_expect_eq(rows_until_found(20), 6);
	cr_expect_eq(suspects(), 1u << 5);
	cr_assert(job_rows_look(&rows, &world, 5, now_ns, &view));
	cr_expect_float_eq(view.share, 45 / 155.0, 0.05, "%f", view.share);
	cr_expect_eq(view.state->compared, RANKS);
	own_ms[5] -= 45;
	play(6);
	cr_expect_eq(suspects(), 0);
}

/* In each row the next of so many ranks pauses. */
static void play_by_turns(int count, uint32_t ranks, double pause_ms)
{
	while (count--) {
		uint32_t one = (uint32_t)row % ranks;
		own_ms[one] += pause_ms;
		play_row();
		own_ms[one] -= pause_ms;
	}
}

Test(job_rows, waiting_that_goes_round_is_told_with_how_often_for_whom_and_how_long, .init = begin, .fini = end)
{
	struct analysis_turns told;

	play_by_turns(10, RANKS, 120);
	job_turns_tell(&rows.turns, rows.count, &told);
	cr_expect_eq(told.times, 0, "of less than 20 steps");
	play_by_turns(70, RANKS, 120);
	cr_expect_eq(suspects(), 0);
	job_turns_tell(&rows.turns, rows.count, &told);
	cr_expect(told.times >= 70 && told.times <= 80, "%u", told.times);
	cr_expect_eq(told.of_steps, told.times, "a row is a step here");
	cr_expect_float_eq(told.each_ms, 118, 4, "%f", told.each_ms);
	cr_expect_float_eq(told.share, 7 / 8.0 * 118 / 230, 0.03, "%f", told.share);
	cr_expect_eq(told.rank_count, RANKS);
	cr_expect(told.ranks[0].times >= 9 && told.ranks[0].times <= 10, "%u", told.ranks[0].times);
	cr_expect(told.at_least);
}

Test(job_rows, waiting_goes_round_by_what_ranks_are_late_by_and_not_by_all_that_they_do, .init = begin, .fini = end)
{
	struct analysis_turns told;

	play_by_turns(70, RANKS, 80);
	job_turns_tell(&rows.turns, rows.count, &told);
	cr_expect_gt(told.times, 0);
	cr_expect_eq(told.by, RW_LATE_HOST, "%d, though GPUs compute for longer", told.by);
}

Test(job_rows, waiting_for_one_or_for_noise_does_not_go_round, .init = begin, .fini = end)
{
	struct analysis_turns told;

	play_by_turns(60, 1, 120);
	job_turns_tell(&rows.turns, rows.count, &told);
	cr_expect_eq(told.times, 0, "always the same one");
	job_turns_free(&rows.turns);
	transfer_ms = 2; /* so that it is a tenth of the time all the same */
	play_by_turns(400, RANKS, 17);
	job_turns_tell(&rows.turns, rows.count, &told);
	cr_expect_eq(told.times, 0, "by what ranks are late by anyway");
}

Test(job_rows, a_host_whose_ranks_become_late_together_is_found, .init = begin, .fini = end)
{
	play(20);
	own_ms[4] += 45;
	own_ms[5] += 45;
	cr_expect_leq(rows_until_found(20), 7);
	play(2);
	cr_expect_eq(suspects(), 3u << 4);
}

/* Each of two may be at fault; of three of eight that is unlikely. */
Test(job_rows, ranks_of_three_hosts_that_become_late_together_are_what_the_job_does, .init = begin, .fini = end)
{
	play(20);
	own_ms[2] += 45;
	own_ms[5] += 45;
	own_ms[7] += 45;
	play(40);
	cr_expect_eq(suspects(), 0);
}

Test(job_rows, two_ranks_that_become_late_together_are_both_found, .init = begin, .fini = end)
{
	play(20);
	own_ms[2] += 45;
	own_ms[5] += 45;
	play(10);
	cr_expect_eq(suspects(), 1u << 2 | 1u << 5);
}

Test(job_rows, a_third_of_the_rows_may_be_lost_and_the_others_overtake_each_other, .init = begin, .fini = end)
{
	lost = 0.3;
	late_ns = 2000 * MS;
	twice = true;
	play(100);
	cr_expect_eq(suspects(), 0);
	cr_expect_gt(rows.rows, 60);
	own_ms[5] += 45;
	int found = rows_until_found(60);
	cr_expect(found >= 6 && found <= 40, "%d", found);
	play(40);
	cr_expect_eq(suspects(), 1u << 5);
}

static void only_host_c(int32_t rank, struct letter *letter)
{
	if (host_of(rank) == 'c')
		letter->host = 0;
}

Test(job_rows, of_a_host_that_sends_no_rows_nobody_is_named_nor_waited_for_long, .init = begin, .fini = end)
{
	play(20);
	lie = only_host_c;
	own_ms[4] += 45;
	play(80);
	cr_expect_eq(suspects(), 0);
	lie = NULL;
	own_ms[4] -= 45;
	play(60);
	uint64_t judged = rows.rows;
	own_ms[0] += 45;
	cr_expect_neq(rows_until_found(40), 0);
	cr_expect_eq(suspects(), 1);
	cr_expect_gt(rows.rows, judged);
}

Test(job_rows, who_comes_later_than_the_others_is_compared_at_once, .init = begin, .fini = end)
{
	lie = only_host_c;
	play(20);
	lie = NULL;
	play(8);
	own_ms[4] += 45;
	int found = rows_until_found(12);
	cr_expect(found >= 6 && found <= 9, "%d", found);
	cr_expect_eq(suspects(), 1u << 4);
}

static void of_another_host(int32_t rank, struct letter *letter)
{
	if (rank == 5)
		letter->host = 'a';
}

Test(job_rows, rows_of_a_rank_of_another_host_are_ignored, .init = begin, .fini = end)
{
	play(20);
	uint64_t ignored = world.ignored;
	lie = of_another_host;
	own_ms[5] += 45;
	play(20);
	cr_expect_eq(suspects(), 0);
	cr_expect_eq(world.ignored, ignored + 20);
}

static void claims_more_than_there_was(int32_t rank, struct letter *letter)
{
	if (rank == 5)
		letter->message.row.own_us += (uint32_t)(row * 60000);
}

static void claims_less_at_each(int32_t rank, struct letter *letter)
{
	if (rank == 5)
		letter->message.row.own_us = (uint32_t)(1000000000 - row * 1000);
}

static void claims_rows_to_come(int32_t rank, struct letter *letter)
{
	if (rank == 5)
		letter->message.row.row = UINT32_MAX - (uint32_t)row;
}

static void claims_other_steps(int32_t rank, struct letter *letter)
{
	if (rank / PER_HOST == 2)
		letter->message.row.steps = (uint16_t)(1 + row % 3 * 4);
	letter->message.row.calls = CALLS * letter->message.row.steps;
}

Test(job_rows, who_reports_what_cannot_be_is_not_judged_and_nobody_else_is_named, .init = begin, .fini = end)
{
	void (*const lies[])(int32_t, struct letter *) = { claims_more_than_there_was, claims_less_at_each,
							   claims_rows_to_come, claims_other_steps };

	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		lie = NULL;
		play(40);
		lie = lies[i];
		uint64_t counted = rows.unaligned + world.ignored;
		play(60);
		cr_expect_eq(suspects(), 0, "%zu", i);
		cr_expect_gt(rows.unaligned + world.ignored, counted + 20, "%zu is counted", i);
		own_ms[0] += 45;
		cr_expect_neq(rows_until_found(60), 0, "%zu", i);
		cr_expect_eq(suspects(), 1, "%zu: %x", i, suspects());
		own_ms[0] -= 45;
		play(20);
		cr_expect_eq(suspects(), 0, "%zu", i);
	}
}

Test(job_rows, a_collector_that_begins_anew_counts_anew, .init = begin, .fini = end)
{
	play(20);
	start++;
	memset(numbers, 0, sizeof(numbers));
	for (int32_t i = 0; i < RANKS; i++)
		totals[i].own_us = totals[i].inside_us = 12345;
	play(20);
	cr_expect_eq(suspects(), 0);
	own_ms[5] += 45;
	cr_expect_leq(rows_until_found(20), 8);
	cr_expect_eq(suspects(), 1u << 5);
}

/* Another number of micro-batches: a step calls more or less often and lasts longer or shorter. */
static void change_calls(uint32_t now)
{
	row = row * calls / now;
	calls = now;
}

/* By how many rows it was found, by turns of so many. */
static int turns_until_found(int turns, int rows_each, uint32_t other_calls)
{
	for (int turn = 0; turn < turns; turn++) {
		int found = rows_until_found(rows_each);
		if (found)
			return turn * rows_each + found;
		change_calls(calls == CALLS ? other_calls : CALLS);
	}
	return 0;
}

Test(job_rows, what_is_known_of_ranks_lasts_where_steps_become_longer_and_shorter, .init = begin, .fini = end)
{
	own_ms[5] += 12;
	int found = turns_until_found(12, 24, 2 * CALLS);
	cr_expect(found && found <= 150, "%d: four parts of six seconds, and what they are scaled by", found);
	cr_expect_eq(suspects(), 1u << 5);
}

Test(job_rows, rows_of_so_many_calls_are_judged_where_steps_are_known_no_longer, .init = begin, .fini = end)
{
	play(20);
	steps = 0;
	function = RW_FUNCTION_ALL_REDUCE;
	calls = 16;
	play(2 * JOB_ROWS_LOOK_NS / (150 * MS));
	own_ms[5] += 45;
	int found = rows_until_found(20);
	cr_expect(found && found <= 8, "%d", found);
	cr_expect_eq(suspects(), 1u << 5);
}

Test(job_rows, nobody_is_named_where_steps_become_longer_and_shorter, .init = begin, .fini = end)
{
	for (int i = 0; i < RANKS; i++)
		own_ms[i] += i % 3;
	cr_expect_eq(turns_until_found(40, 14, 2 * CALLS), 0, "%x", suspects());
	cr_expect_eq(turns_until_found(40, 14, 20 * CALLS), 0, "%x", suspects());
}

Test(job_rows, a_job_that_lasts_takes_no_more_memory, .init = begin, .fini = end)
{
	play(100);
	size_t bytes = job_rows_bytes(&rows, &world) + world_bytes(&world);
	play(2000);
	cr_expect_eq(job_rows_bytes(&rows, &world) + world_bytes(&world), bytes);
	cr_expect_eq(suspects(), 0);
}

Test(job_rows, replicas_of_a_stage_are_compared_with_each_other, .init = begin_pipeline, .fini = end)
{
	for (int i = 2; i < RANKS; i += 4)
		own_ms[i] = own_ms[i + 1] = 50; /* the second stage has always had less to do */
	play(20);
	cr_expect_eq(rows.chosen_count, 4);
	cr_expect_eq(suspects(), 0);
	own_ms[5] += 45;
	cr_expect_leq(rows_until_found(20), 8);
	cr_expect_eq(suspects(), 1u << 5);
}

Test(job_rows, a_stage_is_compared_with_its_own_past_over_all_its_communicators, .init = begin_pipeline, .fini = end)
{
	struct job_rows_view view;

	for (int i = 2; i < RANKS; i += 4)
		own_ms[i] = own_ms[i + 1] = 50;
	play(20);
	for (int i = 2; i < RANKS; i += 4) {
		own_ms[i] += 45;
		own_ms[i + 1] += 45;
	}
	play(12);
	cr_expect_eq(suspects(), 0xccu, "%x", suspects());
	cr_assert(job_rows_look(&rows, &world, 2, now_ns, &view));
	cr_expect(view.of_stage);
	cr_expect(job_rows_are_of_one_stage(&rows, &world, 2, 7));
	cr_expect_not(job_rows_are_of_one_stage(&rows, &world, 2, 4));
}

/* What is told of it. */
static struct heard {
	unsigned opened, closed;
	enum rw_scope scope;
	enum rw_kind kind;
	enum rw_confidence confidence;
	size_t ranks;
	int32_t first;
	double share;
	char text[256];
} heard;
static struct job nobody;
static struct findings findings;
static struct transfers_before before;

static void hear(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	heard.opened += finding->state == RW_FINDING_OPEN;
	heard.closed += finding->state == RW_FINDING_CLOSED;
	heard.scope = finding->scope;
	heard.kind = finding->kind;
	heard.confidence = finding->confidence;
	heard.ranks = finding->rank_count;
	heard.first = finding->ranks[0];
	heard.share = finding->late.lost_share;
	snprintf(heard.text, sizeof(heard.text), "%s", finding->text);
}

static void listen(void)
{
	heard = (struct heard){ 0 };
	before = (struct transfers_before){ 0 };
	findings = (struct findings){ .emit = hear, .job = &nobody };
}

static void play_and_tell(int count)
{
	while (count--) {
		play_row();
		late_tick(&rows, &world, &findings, now_ns);
		transfers_tick(&before, &rows, &world, &findings, now_ns);
	}
}

/* Its own host has found, or no longer finds, that this rank is a straggler. */
static void say_found(int32_t rank)
{
	say(rank, &(struct rw_message){ .type = RW_MESSAGE_FINDING,
					.rank = rank,
					.finding = { .kind = RW_KIND_STRAGGLER,
						     .state = RW_FINDING_OPEN,
						     .severity = RW_WARNING,
						     .confidence = RW_CERTAIN } });
}

Test(job_rows, a_rank_is_told_once_and_no_longer_once_its_own_host_tells_of_it, .init = begin, .fini = end)
{
	listen();
	play_and_tell(20);
	own_ms[5] += 45;
	play_and_tell(40);
	cr_expect_eq(heard.opened, 1);
	cr_expect(heard.scope == RW_SCOPE_RANK && heard.ranks == 1 && heard.first == 5, "%s", heard.text);
	cr_expect_float_eq(heard.share, 45 / 155.0, 0.05, "%f", heard.share);
	cr_expect_eq(heard.closed, 0);
	say_found(5);
	play_and_tell(2);
	cr_expect_eq(heard.closed, 1);
	play_and_tell(40);
	cr_expect_eq(heard.opened, 1);
	findings_free(&findings);
}

Test(job_rows, a_host_is_told_in_place_of_its_ranks, .init = begin, .fini = end)
{
	listen();
	play_and_tell(20);
	own_ms[4] += 45;
	own_ms[5] += 45;
	play_and_tell(60);
	cr_expect_eq(heard.opened, 1, "%s", heard.text);
	cr_expect(heard.scope == RW_SCOPE_HOST && heard.ranks == 2 && heard.first == 4, "%s", heard.text);
	own_ms[4] -= 45;
	own_ms[5] -= 45;
	play_and_tell(20);
	cr_expect_eq(heard.closed, 1, "%s", heard.text);
	cr_expect(strstr(heard.text, "worked longer"), "%s", heard.text);
	findings_free(&findings);
}

Test(job_rows, a_stage_is_told_once_for_all_its_ranks, .init = begin_pipeline, .fini = end)
{
	listen();
	play_and_tell(20);
	for (int i = 2; i < RANKS; i += 4) {
		own_ms[i] += 45;
		own_ms[i + 1] += 45;
	}
	play_and_tell(60);
	cr_expect_eq(heard.opened, 1, "%s", heard.text);
	cr_expect(heard.scope == RW_SCOPE_STAGE && heard.ranks == 4 && heard.first == 2, "%s", heard.text);
	cr_expect_eq(heard.closed, 0);
	for (int i = 2; i < RANKS; i += 4) {
		own_ms[i] -= 45;
		own_ms[i + 1] -= 45;
	}
	play_and_tell(20);
	cr_expect_eq(heard.closed, 1, "%s", heard.text);
	findings_free(&findings);
}

Test(job_rows, operations_that_take_longer_for_all_alike_are_told_and_name_nobody, .init = begin, .fini = end)
{
	listen();
	play_and_tell(40);
	transfer_ms += 40;
	play_and_tell(7);
	cr_expect_eq(heard.opened, 0, "%s", heard.text);
	play_and_tell(3);
	cr_expect_eq(heard.opened, 1);
	cr_expect(heard.kind == RW_KIND_SLOWDOWN && heard.scope == RW_SCOPE_JOB && heard.ranks == RANKS, "%s", heard.text);
	cr_expect(strstr(heard.text, "longer by 40 ms a step than before"), "%s", heard.text);
	cr_expect_eq(heard.confidence, RW_LIKELY);
	play_and_tell(60);
	cr_expect(heard.opened == 1 && heard.closed == 0, "%s", heard.text);
	transfer_ms -= 40;
	play_and_tell(12);
	cr_expect_eq(heard.closed, 1);
	findings_free(&findings);
}

Test(job_rows, operations_that_were_slow_for_a_few_rows_only_are_no_longer_told, .init = begin, .fini = end)
{
	listen();
	play_and_tell(40);
	transfer_ms += 40;
	play_and_tell(14);
	cr_expect_eq(heard.opened, 1);
	transfer_ms -= 40;
	play_and_tell(12);
	cr_expect_eq(heard.closed, 1);
	findings_free(&findings);
}

/* Rows of so many steps from now on. */
static void cut(uint16_t now)
{
	change_calls((uint32_t)CALLS * now);
	steps = now;
}

Test(job_rows, operations_that_become_slow_while_rows_are_cut_anew_are_told, .init = begin, .fini = end)
{
	listen();
	cut(3);
	play_and_tell(40);
	transfer_ms += 40;
	cut(1);
	play_and_tell(20);
	cr_expect_eq(heard.opened, 1);
	cr_expect(strstr(heard.text, "longer by 40 ms a step than before"), "%s", heard.text);
	play_and_tell(60);
	cr_expect(heard.opened == 1 && heard.closed == 0, "%s", heard.text);
	transfer_ms -= 40;
	cut(3);
	play_and_tell(20);
	cr_expect(heard.opened == 1 && heard.closed == 1, "%s", heard.text);
	findings_free(&findings);
}

Test(job_rows, steps_that_are_only_cut_anew_are_no_slow_operations, .init = begin, .fini = end)
{
	listen();
	for (uint16_t i = 0; i < 12; i++) {
		cut(i % 4 + 1);
		play_and_tell(14);
	}
	cr_expect_eq(heard.opened, 0, "%s", heard.text);
	cr_expect_gt(rows.whole_count, 80, "they are compared all the same: %lu", rows.whole_count);
	findings_free(&findings);
}

/* What other steps take says nothing of these. */
Test(job_rows, slow_operations_are_no_longer_told_once_steps_have_other_calls, .init = begin, .fini = end)
{
	listen();
	play_and_tell(40);
	transfer_ms += 40;
	play_and_tell(12);
	cr_expect(heard.opened == 1 && heard.closed == 0, "%s", heard.text);
	change_calls(2 * CALLS);
	play_and_tell(40);
	cr_expect(heard.opened == 1 && heard.closed == 1, "%s", heard.text);
	findings_free(&findings);
}

Test(job_rows, slow_operations_are_told_of_the_ranks_that_go_on_without_others, .init = begin, .fini = end)
{
	listen();
	play_and_tell(40);
	transfer_ms += 40;
	play_and_tell(12);
	cr_expect(heard.opened == 1 && heard.ranks == RANKS, "%s", heard.text);
	shrink();
	play_and_tell((int)(JOB_ROWS_GONE_NS / (100 * MS)) + 10);
	cr_expect_eq(heard.closed, 1, "before, there were others");
	play_and_tell(40);
	cr_expect_eq(heard.opened, 1, "%s", heard.text);
	transfer_ms += 40;
	play_and_tell(10);
	cr_expect(heard.opened == 2 && heard.ranks == RANKS - PER_HOST, "%s", heard.text);
	findings_free(&findings);
}

Test(job_rows, ranks_that_are_late_in_turn_are_no_slow_operations_for_certain, .init = begin, .fini = end)
{
	listen();
	play_and_tell(40);
	turns_ms = 40;
	play_and_tell(60);
	cr_expect(!heard.opened || (heard.kind == RW_KIND_SLOWDOWN && heard.confidence == RW_INCONCLUSIVE), "%s", heard.text);
	findings_free(&findings);
}

Test(job_rows, more_work_for_all_is_no_slow_operation, .init = begin, .fini = end)
{
	listen();
	play_and_tell(40);
	for (int i = 0; i < RANKS; i++)
		own_ms[i] += 50;
	play_and_tell(60);
	cr_expect_eq(heard.opened, 0, "%s", heard.text);
	findings_free(&findings);
}

Test(job_rows, for_a_late_rank_no_operation_is_called_slow, .init = begin, .fini = end)
{
	listen();
	play_and_tell(40);
	own_ms[5] += 45;
	play_and_tell(60);
	cr_expect(heard.opened == 1 && heard.kind == RW_KIND_STRAGGLER, "%s", heard.text);
	findings_free(&findings);
}

/* A rank that is not seen may be the late one. */
Test(job_rows, operations_of_a_job_of_which_a_rank_is_not_seen_are_not_called_slow, .init = begin, .fini = end)
{
	listen();
	play_and_tell(40);
	lie = only_host_c;
	transfer_ms += 40;
	play_and_tell(60);
	cr_expect_eq(heard.opened, 0, "%s", heard.text);
	findings_free(&findings);
}

Test(job_rows, operations_of_a_job_of_which_a_rank_was_never_seen_are_not_called_slow, .init = begin, .fini = end)
{
	listen();
	lie = only_host_c;
	play_and_tell(40);
	transfer_ms += 40;
	play_and_tell(60);
	cr_expect_eq(heard.opened, 0, "%s", heard.text);
	findings_free(&findings);
}
