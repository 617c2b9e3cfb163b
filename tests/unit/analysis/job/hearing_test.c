/* SPDX-License-Identifier: MIT */
/* A job of three hosts with one rank each, made of messages: the reader cannot hear for a while, hosts are lost, and
 * collectors. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include <rankwatch/message.h>
#include <rankwatch/operation.h>

#include "analysis/job/job_half.h"

enum { HOSTS = 3, COMM = 9, TICKS_PER_S = 10, TOLD_MOST = 32 };

/* From … until, in seconds; 0, 0: never. */
struct span {
	double from_s, until_s;
};

struct plan {
	struct span cut_off;       /* the reader has no connection: what hosts send waits … */
	double queued_s;           /* … as far as it is of the last so many seconds */
	struct span held_up;       /* the reader does not run; what comes waits */
	struct span stalled;       /* nothing reaches the reader, which is connected; all of it comes in the end */
	double back_s[HOSTS];      /* the host is heard so much later after any of these */
	struct span silent[HOSTS]; /* the host's collector sends nothing */
	struct span waits[HOSTS];  /* the host's rank waits in an operation for another one */
	struct span again;         /* both once more, for all of whom that is so */
	double wait_again_s;       /* … and again, every so many seconds until `waits` is over; 0: once */
	bool stands;               /* nothing of the job goes on during the first wait */
	int row_s;                 /* all ranks end a row every so many seconds; 0: never */
	bool reboots;              /* who was silent is another start of the machine */
	double seconds;
};

struct told {
	enum rw_kind kind;
	enum rw_finding_state state;
	enum rw_severity severity;
	double at_s;
	char host[64], text[512];
};

struct play {
	const struct plan *plan;
	struct job_half *half;
	double now_s;
	uint64_t number[HOSTS], row;
	size_t count;
	struct told told[TOLD_MOST];
	struct letter {
		struct rw_batch header;
		struct rw_message messages[5];
		double from_s;
		int host;
	} letters[2048];
	size_t letter_count;
};

static struct play play;

static bool is_in(struct span span, double at_s)
{
	return at_s >= span.from_s && at_s < span.until_s;
}

static uint64_t ns(double seconds)
{
	return (uint64_t)((seconds + 1000) * 1e9);
}

static void note(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	cr_assert_lt(play.count, TOLD_MOST);
	struct told *told = &play.told[play.count++];

	*told = (struct told){
		.kind = finding->kind, .state = finding->state, .severity = finding->severity, .at_s = play.now_s
	};
	snprintf(told->host, sizeof(told->host), "%s", finding->where_count ? finding->where[0].host : "");
	snprintf(told->text, sizeof(told->text), "%s", finding->text);
}

static bool is_silent(int host)
{
	const struct span *silent = &play.plan->silent[host];

	return is_in(*silent, play.now_s) || (silent->until_s > 0 && is_in(play.plan->again, play.now_s));
}

/* Since when the host's rank waits; a negative number: it does not. */
static double waits_since(int host)
{
	const struct plan *plan = play.plan;
	bool again = is_in(plan->again, play.now_s) && plan->waits[host].until_s > 0;
	double from_s = again ? plan->again.from_s : plan->waits[host].from_s;

	if (!again && !is_in(plan->waits[host], play.now_s))
		return -1;
	if (plan->wait_again_s > 0) {
		while (from_s + plan->wait_again_s <= play.now_s)
			from_s += plan->wait_again_s;
		return play.now_s < from_s + plan->wait_again_s - 1 ? from_s : -1;
	}
	return from_s;
}

static bool job_stands(void)
{
	for (int i = 0; i < HOSTS; i++)
		if (waits_since(i) >= 0 && play.plan->stands)
			return true;
	return false;
}

static void write(int host, bool restates)
{
	struct letter *letter = &play.letters[play.letter_count++];
	double since_s = waits_since(host);
	uint32_t count = 0;

	cr_assert_lt(play.letter_count, sizeof(play.letters) / sizeof(*play.letters));
	*letter = (struct letter){ .from_s = play.now_s, .host = host };
	if (restates) {
		letter->messages[count++] =
		    (struct rw_message){ .type = RW_MESSAGE_RANK,
					 .rank = host,
					 .of_rank = { .pid = 100 + host, .world_size = HOSTS, .exit_status = -1 } };
		letter->messages[count++] =
		    (struct rw_message){ .type = RW_MESSAGE_MEMBER,
					 .rank = host,
					 .member = { .comm = COMM, .size = HOSTS, .comm_rank = host, .hosts = HOSTS } };
	}
	if (play.plan->row_s && !job_stands())
		letter->messages[count++] =
		    (struct rw_message){ .type = RW_MESSAGE_ROW,
					 .rank = host,
					 .function = RW_FUNCTION_ALL_REDUCE,
					 .row = { .comm = COMM,
						  .row = (uint32_t)(4 + play.row),
						  .calls = 16,
						  .steps = 1,
						  .operations = (uint16_t)(16 * play.row),
						  .own_us = (uint32_t)(play.row * 900000 * play.plan->row_s),
						  .inside_us = (uint32_t)(play.row * 100000 * play.plan->row_s) } };
	if (since_s >= 0 && play.now_s >= since_s + 1)
		letter->messages[count++] =
		    (struct rw_message){ .type = RW_MESSAGE_FLIGHT,
					 .function = RW_FUNCTION_ALL_REDUCE,
					 .rank = host,
					 .flight = { .comm = COMM,
						     .sequence = 64 + 16 * play.row + 7,
						     .age_ms = (uint32_t)((play.now_s - since_s) * 1000),
						     .peer_or_root = -1,
						     .phase = RW_PHASE_RUNNING,
						     .flags = RW_MESSAGE_ARRIVED | RW_MESSAGE_HOLDS } };
	letter->header = (struct rw_batch){ .magic = RW_BATCH_MAGIC,
					    .version = RW_BATCH_VERSION,
					    .count = count,
					    .number = play.number[host]++,
					    .start = 7 };
	if (play.plan->reboots && play.now_s >= play.plan->silent[host].until_s)
		letter->header.start = letter->header.boot[0] = 8;
	snprintf(letter->header.host, sizeof(letter->header.host), "h%d", host);
	strcpy(letter->header.job, "j");
}

static void take(const struct letter *letter)
{
	static struct {
		struct rw_batch header;
		struct rw_message messages[5];
	} batch;
	const char *why = "nothing";

	batch.header = letter->header;
	memcpy(batch.messages, letter->messages, sizeof(batch.messages));
	cr_assert_eq(job_half_take(play.half, &batch, sizeof(batch.header) + batch.header.count * RW_MESSAGE_SIZE,
				   ns(play.now_s), &why),
		     0, "%s", why);
}

/* Whether what the host sent in this span, or until the host is back behind it, is held up now. */
static bool is_held(struct span span, const struct letter *letter)
{
	struct span whole = { span.from_s, span.until_s + play.plan->back_s[letter->host] };

	return span.until_s > 0 && is_in(whole, letter->from_s) && play.now_s < whole.until_s;
}

static bool is_lost(const struct letter *letter)
{
	double back_s = play.plan->cut_off.until_s + play.plan->back_s[letter->host];

	return is_in((struct span){ play.plan->cut_off.from_s, back_s - play.plan->queued_s }, letter->from_s);
}

static void receive(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < play.letter_count; i++) {
		const struct letter *letter = &play.letters[i];
		if (is_held(play.plan->cut_off, letter) || is_held(play.plan->held_up, letter) ||
		    is_held(play.plan->stalled, letter))
			play.letters[kept++] = *letter;
		else if (!is_lost(letter))
			take(letter);
	}
	play.letter_count = kept;
}

static void play_out(const struct plan *plan)
{
	memset(&play, 0, sizeof(play));
	play.plan = plan;
	play.half = job_half_new("j", note, NULL);
	double ticked_s = 0;

	for (int tick = 0; tick < plan->seconds * TICKS_PER_S; tick++) {
		play.now_s = (double)tick / TICKS_PER_S;
		play.row += plan->row_s && tick % (TICKS_PER_S * plan->row_s) == 0 && !job_stands();
		for (int host = 0; host < HOSTS; host++)
			if (tick % TICKS_PER_S == host && !is_silent(host))
				write(host, tick / TICKS_PER_S % 5 == 0);
		if (is_in(plan->held_up, play.now_s))
			continue;
		if (is_in(plan->cut_off, play.now_s) || play.now_s > ticked_s + 3)
			job_half_deaf(play.half, ns(play.now_s));
		receive();
		job_half_tick(play.half, ns(play.now_s));
		ticked_s = play.now_s;
	}
	job_half_free(play.half);
}

static size_t count_told(enum rw_kind kind, enum rw_finding_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < play.count; i++)
		count += play.told[i].kind == kind && play.told[i].state == state;
	return count;
}

static void expect_nothing(const char *what)
{
	cr_expect_eq(play.count, 0, "%s: %s at %.1f s", what, play.count ? play.told[0].text : "",
		     play.count ? play.told[0].at_s : 0);
}

Test(hearing, nobody_is_silent_for_a_reader_that_is_cut_off)
{
	/* The nodes come back one after the other, each with what it has kept. */
	const struct plan plan = { .cut_off = { 20, 40 },
				   .queued_s = 15,
				   .back_s = { 0, 9, 16 },
				   .waits = { { 20, 56 }, { 20, 56 } },
				   .wait_again_s = 5,
				   .row_s = 1,
				   .seconds = 90 };
	const struct plan dropped = { .cut_off = { 20, 40 },
				      .queued_s = 0,
				      .back_s = { 0, 9, 16 },
				      .waits = { { 20, 56 }, { 20, 56 } },
				      .wait_again_s = 5,
				      .seconds = 90 };

	play_out(&plan);
	expect_nothing("batches were queued");
	play_out(&dropped);
	expect_nothing("batches were dropped");
}

Test(hearing, nobody_is_silent_for_a_reader_that_did_not_run)
{
	const struct plan plan = { .held_up = { 20, 45 },
				   .back_s = { 0, 6, 12 },
				   .waits = { { 20, 56 }, { 20, 56 } },
				   .wait_again_s = 5,
				   .row_s = 1,
				   .seconds = 80 };

	play_out(&plan);
	expect_nothing("held up");
}

Test(hearing, nobody_is_silent_where_nothing_comes_of_anybody)
{
	const struct plan plan = { .stalled = { 20, 33 },
				   .back_s = { 0, 6, 12 },
				   .waits = { { 20, 56 }, { 20, 56 } },
				   .wait_again_s = 5,
				   .row_s = 1,
				   .seconds = 80 };

	play_out(&plan);
	expect_nothing("stalled");
}

/* The job stands before the reader is cut off, and after. */
Test(hearing, what_is_open_stays_open_while_nobody_is_heard)
{
	const struct span cut_off = { 60, 80 };
	const struct plan plans[] = {
		{ .cut_off = cut_off,
		  .back_s = { 0, 4, 0 },
		  .silent = { [2] = { 20, 200 } },
		  .waits = { { 20, 200 }, { 20, 200 } },
		  .stands = true,
		  .row_s = 1,
		  .seconds = 140 },
		{ .held_up = cut_off,
		  .silent = { [2] = { 20, 200 } },
		  .waits = { { 20, 200 }, { 20, 200 } },
		  .stands = true,
		  .row_s = 1,
		  .seconds = 140 },
		{ .stalled = cut_off,
		  .silent = { [2] = { 20, 200 } },
		  .waits = { { 20, 200 }, { 20, 200 } },
		  .stands = true,
		  .row_s = 1,
		  .seconds = 140 },
	};

	for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
		play_out(&plans[i]);
		cr_expect_eq(count_told(RW_KIND_GONE, RW_FINDING_OPEN), 1, "%zu", i);
		cr_expect_eq(count_told(RW_KIND_GONE, RW_FINDING_CLOSED), 0, "%zu", i);
		cr_expect_str_eq(play.told[0].host, "h2", "%zu: %s", i, play.told[0].text);
		cr_expect_lt(play.told[0].at_s, 34, "%zu: %.1f", i, play.told[0].at_s);
	}
}

/* It was lost while nobody could see it. */
Test(hearing, a_host_that_does_not_come_back_is_told_half_a_minute_after_the_others)
{
	const struct plan plan = { .cut_off = { 20, 40 },
				   .back_s = { 0, 3, 0 },
				   .silent = { [2] = { 25, 200 } },
				   .waits = { { 25, 200 }, { 25, 200 } },
				   .stands = true,
				   .row_s = 1,
				   .seconds = 100 };

	play_out(&plan);
	cr_expect_eq(count_told(RW_KIND_GONE, RW_FINDING_OPEN), 1);
	cr_expect_eq(count_told(RW_KIND_GONE, RW_FINDING_CLOSED), 0);
	cr_expect_str_eq(play.told[0].host, "h2", "%s", play.told[0].text);
	cr_expect_float_eq(play.told[0].at_s, 71, 2, "%.1f", play.told[0].at_s);
}

/* Each step takes four seconds, in most of which the others wait. */
Test(silence, a_killed_collector_is_not_a_lost_host)
{
	const struct plan plan = { .silent = { [2] = { 22, 400 } },
				   .waits = { { 0, 400 }, { 0, 400 } },
				   .wait_again_s = 4,
				   .row_s = 4,
				   .seconds = 120 };

	play_out(&plan);
	cr_expect_eq(play.count, 1);
	cr_expect_eq(play.told[0].kind, RW_KIND_BLIND, "%s", play.told[0].text);
	cr_expect_eq(play.told[0].severity, RW_NOTICE);
}

/* Half a minute later the job stands: nobody sees who it is, but the others wait for this host's ranks. */
Test(silence, where_others_wait_for_ranks_without_a_collector_that_is_first_a_notice)
{
	const struct plan plan = { .silent = { [2] = { 20, 400 } },
				   .waits = { { 50, 400 }, { 50, 400 } },
				   .stands = true,
				   .row_s = 1,
				   .seconds = 120 };

	play_out(&plan);
	cr_expect_eq(count_told(RW_KIND_GONE, RW_FINDING_OPEN), 0);
	cr_expect_eq(count_told(RW_KIND_HANG, RW_FINDING_OPEN), 1);
	cr_expect_eq(count_told(RW_KIND_HANG, RW_FINDING_CLOSED), 0);
	const struct told *hang = &play.told[1], *last = hang;
	for (size_t i = 2; i < play.count && last->severity != RW_CRITICAL; i++)
		last = play.told[i].kind == RW_KIND_HANG ? &play.told[i] : last;
	cr_expect_eq(hang->kind, RW_KIND_HANG, "%s", hang->text);
	cr_expect_eq(hang->severity, RW_NOTICE);
	cr_expect_str_eq(hang->host, "h2");
	cr_expect_float_eq(hang->at_s, 60, 2, "%.1f", hang->at_s);
	cr_expect_eq(last->severity, RW_CRITICAL);
	cr_expect_float_eq(last->at_s, 80, 2, "%.1f", last->at_s);
	cr_expect(strstr(last->text, "host h2 (rank 2) has sent nothing for ") &&
		      strstr(last->text, ", and its ranks have gone on without a collector: ranks 0,1 wait for it in "),
		  "%s", last->text);
}

/* It is not known of whom more than wait. */
Test(silence, of_hosts_without_collectors_none_is_named_where_more_are_missing_than_wait)
{
	const struct plan plan = { .silent = { [1] = { 20, 400 }, [2] = { 20, 400 } },
				   .waits = { { 50, 400 } },
				   .stands = true,
				   .row_s = 1,
				   .seconds = 120 };

	play_out(&plan);
	cr_expect_eq(count_told(RW_KIND_GONE, RW_FINDING_OPEN) + count_told(RW_KIND_HANG, RW_FINDING_OPEN), 0);
}

static const struct told *first_of(enum rw_kind kind, enum rw_finding_state state)
{
	for (size_t i = 0; i < play.count; i++)
		if (play.told[i].kind == kind && play.told[i].state == state)
			return &play.told[i];
	return NULL;
}

Test(silence, a_host_that_is_heard_again_is_told_with_a_word_and_needs_more_the_next_time)
{
	const struct plan plan = { .silent = { [2] = { 20, 60 } },
				   .waits = { { 20, 75 }, { 20, 75 } },
				   .again = { 100, 150 },
				   .stands = true,
				   .row_s = 1,
				   .seconds = 170 };

	play_out(&plan);
	const struct told *closed = first_of(RW_KIND_GONE, RW_FINDING_CLOSED);
	cr_expect_eq(count_told(RW_KIND_GONE, RW_FINDING_OPEN), 1);
	cr_assert_not_null(closed);
	cr_expect_str_eq(closed->text,
			 "host h2 is heard again: it was its collector, or the way from it, that was lost");
	cr_expect_float_eq(closed->at_s, 60.5, 0.5, "at once: %.1f", closed->at_s);
	const struct told *hang = first_of(RW_KIND_HANG, RW_FINDING_OPEN);
	cr_assert_not_null(hang);
	cr_expect_str_eq(hang->host, "h2");
	cr_expect(strstr(hang->text, "host h2 (rank 2) has sent nothing for 30 s, as before it was heard again: "),
		  "%s", hang->text);
	/* Silent after half a minute, since it has paused so long before. */
	cr_expect_float_eq(hang->at_s, 130, 2, "%.1f", hang->at_s);
}

Test(silence, a_machine_that_was_started_anew_was_gone)
{
	const struct plan plan = { .silent = { [2] = { 20, 60 } },
				   .waits = { { 20, 75 }, { 20, 75 } },
				   .stands = true,
				   .row_s = 1,
				   .reboots = true,
				   .seconds = 90 };

	play_out(&plan);
	const struct told *closed = first_of(RW_KIND_GONE, RW_FINDING_CLOSED);
	cr_assert_not_null(closed);
	cr_expect_str_eq(closed->text, "host h2: the machine was started anew, and is heard again");
}
