/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankwatch/message.h>

#include "analysis/model.h"
#include "analysis/node/node_half.h"
#include "tests/unit/analysis/jobs/many_hosts.h"

#define PLACED(type, field, at) cr_expect_eq(offsetof(type, field), at, #type "." #field)

Test(message, lies_as_the_page_says)
{
	cr_expect_eq(sizeof(struct rw_batch), 192);
	PLACED(struct rw_batch, version, 4);
	PLACED(struct rw_batch, flags, 6);
	PLACED(struct rw_batch, count, 8);
	PLACED(struct rw_batch, number, 16);
	PLACED(struct rw_batch, start, 24);
	PLACED(struct rw_batch, lost, 32);
	PLACED(struct rw_batch, boot, 40);
	PLACED(struct rw_batch, host, 56);
	PLACED(struct rw_batch, job, 120);
	cr_expect_eq(sizeof(struct rw_message), 48);
	PLACED(struct rw_message, function, 1);
	PLACED(struct rw_message, generation, 2);
	PLACED(struct rw_message, rank, 4);
	PLACED(struct rw_message, bytes, 8);
	PLACED(struct rw_message_rank, watchdog_ms, 8);
	PLACED(struct rw_message_rank, life, 20);
	PLACED(struct rw_message_rank, sending, 21);
	PLACED(struct rw_message_rank, local_rank, 22);
	PLACED(struct rw_message_rank, gpu, 24);
	PLACED(struct rw_message_member, comm_rank, 12);
	PLACED(struct rw_message_member, flags, 20);
	PLACED(struct rw_message_member, name, 21);
	PLACED(struct rw_message_row, row, 8);
	PLACED(struct rw_message_row, own_us, 16);
	PLACED(struct rw_message_row, operations, 36);
	PLACED(struct rw_message_flight, age_ms, 24);
	PLACED(struct rw_message_flight, dtype, 32);
	PLACED(struct rw_message_flight, flags, 34);
	PLACED(struct rw_message_flight, awaits, 36);
	PLACED(struct rw_message_ask_calls, from, 8);
	PLACED(struct rw_message_ask_calls, shift, 16);
	PLACED(struct rw_message_called, hash, 16);
	PLACED(struct rw_message_called, from, 24);
	PLACED(struct rw_message_called, root, 32);
	PLACED(struct rw_message_called, index, 37);
	PLACED(struct rw_message_called, dtype, 38);
	PLACED(struct rw_message_calls, calls, 16);
	PLACED(struct rw_message_calls, idle_ms, 32);
	PLACED(struct rw_message_why, text, 8);
	PLACED(struct rw_message_finding, lost_ppm, 8);
	PLACED(struct rw_message_finding, cause, 16);
	PLACED(struct rw_message_init, size, 8);
	PLACED(struct rw_message_init, world_size, 16);
	PLACED(struct rw_message_init, age_ms, 24);
	PLACED(struct rw_message_init, watchdog_ms, 28);
	PLACED(struct rw_message_init, life, 32);
	PLACED(struct rw_message_absent, absence, 8);
	PLACED(struct rw_message_absent, text, 12);
}

static struct rw_message sent[1 << 16];
static size_t sent_count;

static void keep(const void *bytes, size_t length)
{
	size_t count = (length - sizeof(struct rw_batch)) / sizeof(*sent);

	memcpy(&sent[sent_count], (const char *)bytes + sizeof(struct rw_batch), count * sizeof(*sent));
	sent_count += count;
}

static size_t count_of(enum rw_message_type type)
{
	size_t count = 0;

	for (size_t i = 0; i < sent_count; i++)
		count += sent[i].type == type;
	return count;
}

static void play(const struct many_hosts_job *job, struct many_hosts_result *result)
{
	sent_count = 0;
	many_hosts_watch(keep);
	many_hosts_play(job, result);
	many_hosts_watch(NULL);
}

Test(node_half, says_who_is_there_and_what_is_on_several_hosts)
{
	struct many_hosts_result result;
	const struct many_hosts_job job = {
		.hosts = 2, .per_host = 2, .shape = MANY_MESH, .operations = 20, .step_ms = 500, .seconds = 5, .seed = 1,
	};

	play(&job, &result);
	for (size_t i = 0; i < sent_count; i++) {
		if (sent[i].type == RW_MESSAGE_RANK)
			cr_expect_eq(sent[i].of_rank.pid, 1000 + sent[i].rank % 2);
		if (sent[i].type == RW_MESSAGE_MEMBER)
			cr_expect_eq(sent[i].member.comm, 0x2000u + (uint64_t)sent[i].rank % 2, "the group of one host is its own affair");
	}
	cr_expect_geq(count_of(RW_MESSAGE_RANK), 4);
	cr_expect_leq(count_of(RW_MESSAGE_RANK), 12, "at the beginning, and 2 and 4 s later");
	cr_expect_eq(result.summary.ranks, 4);
	cr_expect_eq(result.summary.hosts, 2);
	cr_expect_eq(result.summary.communicators, 2);
	cr_expect_eq(result.summary.ranks_total, 4);
	cr_expect_eq(result.summary.missed, 0);
	cr_expect_eq(result.summary.bad, 0);
	cr_expect_eq(result.summary.silent_hosts, 0);
}

/* What the messages of two rows differ by is what lies between them, of which nothing is lost. */
Test(node_half, accounts_for_all_time_between_two_rows)
{
	struct many_hosts_result result;
	const struct many_hosts_job job = {
		.hosts = 4, .per_host = 1, .shape = MANY_FLAT, .operations = 10, .step_ms = 250, .jitter = 0.1,
		.fault = MANY_SLOW_RANK, .rank = 2, .slow = 0.2, .seconds = 40, .seed = 3,
	};
	const struct rw_message_row *last[4] = { NULL };
	int rows = 0, before_steps = 0;

	play(&job, &result);
	for (size_t i = 0; i < sent_count; i++) {
		if (sent[i].type != RW_MESSAGE_ROW)
			continue;
		const struct rw_message_row *row = &sent[i].row, *before = last[sent[i].rank];
		last[sent[i].rank] = row;
		before_steps += !row->steps;
		if (!before || !before->steps)
			continue;
		/* Each step has 300 ms and 11 transfers. */
		double steps = row->row * row->steps - before->row * before->steps;
		double own_s = (row->own_us - before->own_us) / 1e6, inside_s = (row->inside_us - before->inside_us) / 1e6;
		double lasted_s = steps * (0.25 * 1.2 * 1.025 + 11 * 0.0005);
		cr_expect_float_eq(own_s + inside_s, lasted_s, 0.15 * lasted_s, "%f s of %f s", own_s + inside_s, lasted_s);
		cr_expect_eq(row->unseen_us, before->unseen_us);
		if (sent[i].rank == 2)
			cr_expect_gt(own_s, 0.9 * lasted_s);
		else
			cr_expect_gt(inside_s, 0.1 * lasted_s);
		rows++;
	}
	cr_expect_gt(rows, 4 * 100);
	cr_expect_leq(rows, 4 * 130, "a row is a step");
	cr_expect_lt(before_steps, 4 * 10, "%d", before_steps);
}

static void keep_sent(void *argument, const void *bytes, size_t length)
{
	(void)argument;
	keep(bytes, length);
}

static void emit_nothing(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	(void)finding;
}

/* What the judge of the job asks at the end of stand_idle(); type 0: nothing. */
static struct rw_message asked;

static void ask_now(struct node_half *half, uint64_t now_ns)
{
	struct {
		struct rw_batch header;
		struct rw_message message;
	} batch = {
		.header = { .magic = RW_BATCH_MAGIC, .version = RW_BATCH_VERSION, .count = 1, .host = "h", .job = "j" },
		.message = asked
	};

	if (asked.type)
		cr_expect_eq(node_half_ask(half, &batch, sizeof(batch), now_ns, NULL), 0);
}

/* One rank of two, the other on another host: it calls one AllReduce that ends, and nothing more for ten seconds.
 * `announced`: calls that its box counts. */
static void stand_idle(const struct rw_init *init, uint64_t announced)
{
	static struct rw_box_header box = { .host = "h", .job = "j", .created_ns = 1, .world_size = 2 };
	struct analysis *analysis = analysis_new(false, emit_nothing, NULL);
	const struct node_identity identity = { .job = "j", .host = "h", .start = 1 };
	struct node_half *half = node_half_new(analysis, &identity);
	const struct analysis_process process = { .id = 1, .pid = 7, .box = &box };
	const struct rw_communicator communicator = {
		.id = 9, .nranks = 2, .nnodes = 2, .created_ns = 1, .api_count = announced
	};
	const uint64_t ms = 1000000, second = 1000 * ms;
	const struct rw_operation slot = {
		.ticket = 1,
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_TASK | RW_KNOWN_STARTED |
			 RW_KNOWN_DONE,
		.function = RW_FUNCTION_ALL_REDUCE,
		.api_ns = second,
		.launch_begin_ns = second + ms,
		.launch_end_ns = second + ms,
		.return_ns = second + ms,
		.root_or_peer = -1,
		.progress = 1,
		.gpu_source = RW_GPU_SOURCE_WATERMARK,
		.started_seen_ns = second + 2 * ms,
		.done_seen_ns = second + 3 * ms,
	};

	sent_count = 0;
	cr_assert_eq(analysis_add_process(analysis, &process), 0);
	cr_assert_eq(analysis_add_communicator(analysis, 1, 0, &communicator), 0);
	cr_assert_eq(analysis_add_operation(analysis, 1, &slot), 0);
	if (init)
		cr_assert_eq(analysis_set_init(analysis, 1, init), 0);
	for (uint64_t now_ns = second; now_ns < 11 * second; now_ns += 100 * ms) {
		analysis_tick(analysis, now_ns);
		node_half_tick(half, now_ns, keep_sent, NULL);
	}
	ask_now(half, 11 * second);
	node_half_end(half, 11 * second, keep_sent, NULL);
	node_half_free(half);
	analysis_free(analysis);
}

Test(node_half, says_how_far_a_rank_has_come_that_calls_nothing)
{
	stand_idle(NULL, 1);
	size_t orders = 0;
	cr_expect_eq(count_of(RW_MESSAGE_CALLS), 4 + 2, "after 1, 2, 4 and 8 s; and, twice, which call it was");
	cr_expect_geq(count_of(RW_MESSAGE_WHY), 4);
	for (size_t i = 0; i < sent_count; i++) {
		if (sent[i].type != RW_MESSAGE_CALLS)
			continue;
		cr_expect_neq(sent[i].calls.hash, 0);
		orders += !sent[i].function;
		if (!sent[i].function)
			continue;
		cr_expect_eq(sent[i].function, RW_FUNCTION_ALL_REDUCE);
		cr_expect_eq(sent[i].calls.next, 1);
		cr_expect_eq(sent[i].calls.comm, 9);
		cr_expect_eq(sent[i].calls.calls, 1);
	}
	cr_expect_eq(orders, 2, "the first may have been lost");
}

static const struct rw_message *find_sent(enum rw_message_type type)
{
	for (size_t i = 0; i < sent_count; i++)
		if (sent[i].type == type)
			return &sent[i];
	return NULL;
}

Test(node_half, answers_which_calls_a_rank_has_made)
{
	asked = (struct rw_message){ .type = RW_MESSAGE_ASK_CALLS, .ask_calls = { .comm = 9 } };
	stand_idle(NULL, 1);
	const struct rw_message *called = find_sent(RW_MESSAGE_CALLED), *calls = find_sent(RW_MESSAGE_CALLS);
	cr_assert(called && calls);
	cr_expect_eq(count_of(RW_MESSAGE_CALLED), 1);
	cr_expect_eq(called->function, RW_FUNCTION_ALL_REDUCE);
	cr_expect_eq(called->called.hash, calls->calls.hash, "of all calls, as there is only one");
	cr_expect_eq(called->called.sequence, 0);
	cr_expect_eq(called->called.root, -1);
	asked.rank = 1;
	stand_idle(NULL, 1);
	cr_expect_eq(count_of(RW_MESSAGE_CALLED), 0, "another rank");
	asked.rank = 0;
	asked.generation = 1;
	stand_idle(NULL, 1);
	cr_expect_eq(count_of(RW_MESSAGE_CALLED), 0, "another start of the job");
	asked.generation = 0;
	asked.ask_calls.comm = 8;
	stand_idle(NULL, 1);
	cr_expect_eq(count_of(RW_MESSAGE_CALLED), 0, "another communicator");
}

Test(node_half, says_so_where_it_does_not_keep_the_calls_that_it_is_asked_for)
{
	const uint64_t from[] = { 1, UINT64_MAX - 1, UINT64_MAX };

	for (size_t i = 0; i < sizeof(from) / sizeof(*from); i++) {
		asked = (struct rw_message){ .type = RW_MESSAGE_ASK_CALLS, .ask_calls = { .comm = 9, .from = from[i], .shift = 40 } };
		stand_idle(NULL, 1);
		const struct rw_message *called = find_sent(RW_MESSAGE_CALLED);
		cr_assert_not_null(called);
		cr_expect_eq(count_of(RW_MESSAGE_CALLED), 1);
		cr_expect_eq(called->function, 0);
		cr_expect_eq(called->called.hash, 0);
		cr_expect_eq(called->called.from, (uint32_t)from[i]);
		cr_expect_eq(called->called.root, -1);
	}
	asked.ask_calls = (struct rw_message_ask_calls){ .comm = 9, .shift = 1 };
	stand_idle(NULL, 1);
	cr_expect_eq(count_of(RW_MESSAGE_CALLED), 0, "no stretch of two calls is whole yet");
	asked.ask_calls.shift = 41;
	stand_idle(NULL, 1);
	cr_expect_eq(count_of(RW_MESSAGE_CALLED), 0, "no such stretch can be asked for");
}

/* A call that was lost may have been any: of the order of the others nothing is said. */
Test(node_half, tells_no_order_where_a_call_was_not_seen)
{
	stand_idle(NULL, 2);
	cr_expect_eq(count_of(RW_MESSAGE_CALLS), 4);
	for (size_t i = 0; i < sent_count; i++) {
		if (sent[i].type != RW_MESSAGE_CALLS)
			continue;
		cr_expect_eq(sent[i].function, RW_FUNCTION_ALL_REDUCE);
		cr_expect_eq(sent[i].calls.calls, UINT64_MAX);
		cr_expect_eq(sent[i].calls.hash, 0);
	}
}

/* A rank that calls an AllReduce every `every_ms`, the first `quick` of them every millisecond, and its host reads its
 * box every 100 ms, from `begin_ms` on. The longest time from one hash of its calls to the next, or to the end after
 * 100 s. */
static uint64_t longest_without_hash_ms(uint64_t every_ms, uint64_t quick, uint64_t begin_ms)
{
	static struct rw_box_header box = { .host = "h", .job = "j", .created_ns = 1, .world_size = 2 };
	struct analysis *analysis = analysis_new(false, emit_nothing, NULL);
	const struct node_identity identity = { .job = "j", .host = "h", .start = 1 };
	struct node_half *half = node_half_new(analysis, &identity);
	const struct analysis_process process = { .id = 1, .pid = 7, .box = &box };
	struct rw_communicator communicator = { .id = 9, .nranks = 2, .nnodes = 2, .created_ns = 1 };
	const uint64_t ms = 1000000;
	uint64_t made_ms = 1, longest_ms = 0, hash_ms = begin_ms;
	struct rw_operation slot = {
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_TASK |
			 RW_KNOWN_STARTED | RW_KNOWN_DONE,
		.function = RW_FUNCTION_ALL_REDUCE,
		.root_or_peer = -1,
		.gpu_source = RW_GPU_SOURCE_WATERMARK,
	};

	cr_assert_eq(analysis_add_process(analysis, &process), 0);
	for (uint64_t now_ms = begin_ms; now_ms < 100000; now_ms += 100) {
		for (uint64_t at_ms = made_ms, call = communicator.api_count; at_ms <= now_ms; at_ms += ++call < quick ? 1 : every_ms)
			communicator.api_count++;
		cr_assert_eq(analysis_add_communicator(analysis, 1, 0, &communicator), 0);
		for (; slot.ticket < communicator.api_count; made_ms += slot.ticket < quick ? 1 : every_ms) {
			slot.sequence = slot.ticket++;
			slot.progress = slot.ticket;
			slot.api_ns = slot.launch_begin_ns = slot.launch_end_ns = slot.return_ns = made_ms * ms;
			slot.started_seen_ns = slot.done_seen_ns = made_ms * ms + ms / 2;
			cr_assert_eq(analysis_add_operation(analysis, 1, &slot), 0);
		}
		sent_count = 0;
		analysis_tick(analysis, now_ms * ms);
		node_half_tick(half, now_ms * ms, keep_sent, NULL);
		bool hashed = false;
		for (size_t i = 0; i < sent_count; i++)
			hashed |= sent[i].type == RW_MESSAGE_CALLS && !sent[i].function;
		longest_ms = now_ms - hash_ms > longest_ms ? now_ms - hash_ms : longest_ms;
		hash_ms = hashed ? now_ms : hash_ms;
	}
	node_half_free(half);
	analysis_free(analysis);
	return longest_ms;
}

/* Members can only be compared at places of which each of them has told. */
Test(node_half, tells_the_hash_of_its_calls_often_enough)
{
	const uint64_t every_ms[] = { 3, 25, 80, 200, 900 }, quick[] = { 0, 100, 1000 }, begin_ms[] = { 10, 1860, 4080 };
	const size_t begins = sizeof(begin_ms) / sizeof(*begin_ms);

	for (size_t i = 0; i < sizeof(every_ms) / sizeof(*every_ms); i++)
		for (size_t k = 0; k < sizeof(quick) / sizeof(*quick); k++)
			for (size_t n = 0; n < begins; n++) {
				uint64_t longest_ms = longest_without_hash_ms(every_ms[i], quick[k], begin_ms[n]);
				cr_expect_leq(longest_ms, 30000,
					      "every %" PRIu64 " ms, %" PRIu64 " quick ones, read from %" PRIu64
					      " ms: %" PRIu64 " ms",
					      every_ms[i], quick[k], begin_ms[n], longest_ms);
			}
}

/* An operation of two of three ranks, which are on this host: `sequence` 0 begins at 10 s, the next one half a second
 * later. Rank 0 is in both, rank 1 has ended the first. */
static void join(struct analysis *analysis, analysis_process_id id, uint64_t sequence, bool ended)
{
	const uint64_t ms = 1000000, begun_ns = 10000 * ms + 500 * ms * sequence;
	const struct rw_operation slot = {
		.ticket = sequence + 1,
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_TASK | RW_KNOWN_STARTED |
			 (ended ? RW_KNOWN_DONE : 0),
		.function = RW_FUNCTION_ALL_REDUCE,
		.sequence = sequence,
		.count = 5,
		.api_ns = begun_ns,
		.launch_begin_ns = begun_ns + ms,
		.launch_end_ns = begun_ns + ms,
		.return_ns = begun_ns + ms,
		.root_or_peer = -1,
		.progress = sequence + 1,
		.gpu_source = RW_GPU_SOURCE_WATERMARK,
		.started_seen_ns = begun_ns + 2 * ms,
		.done_seen_ns = ended ? begun_ns + 3 * ms : 0,
	};

	cr_assert_eq(analysis_add_operation(analysis, id, &slot), 0);
}

/* What is sent of operations that stand, at this time; `killed`: of rank 0, before. The caller was stopped, and went on
 * at resumed_ns; 0: it was not. */
static void look_at_standing(uint64_t now_ns, bool killed, uint64_t resumed_ns)
{
	static struct rw_box_header boxes[2] = { { .host = "h", .job = "j", .created_ns = 1, .world_size = 3 },
						 { .host = "h", .job = "j", .created_ns = 1, .world_size = 3, .world_rank = 1 } };
	struct analysis *analysis = analysis_new(false, emit_nothing, NULL);
	const struct node_identity identity = { .job = "j", .host = "h", .start = 1 };
	struct node_half *half = node_half_new(analysis, &identity);

	sent_count = 0;
	for (uint32_t i = 0; i < 2; i++) {
		const struct analysis_process process = { .id = 1 + i, .pid = 7 + (int32_t)i, .box = &boxes[i] };
		const struct rw_communicator communicator = {
			.id = 9, .rank = (int32_t)i, .nranks = 3, .nnodes = 2, .created_ns = 1, .api_count = 2
		};
		cr_assert_eq(analysis_add_process(analysis, &process), 0);
		cr_assert_eq(analysis_add_communicator(analysis, 1 + i, 0, &communicator), 0);
		for (uint64_t sequence = 0; sequence < 2; sequence++)
			join(analysis, 1 + i, sequence, i == 1 && sequence == 0);
	}
	if (killed)
		analysis_set_life(analysis, 1, ANALYSIS_KILLED, 9, now_ns - 1);
	if (resumed_ns)
		analysis_resume(analysis, resumed_ns);
	analysis_tick(analysis, now_ns);
	node_half_tick(half, now_ns, keep_sent, NULL);
	node_half_tick(half, now_ns + 1, keep_sent, NULL);
	node_half_free(half);
	analysis_free(analysis);
}

static size_t flights_of(int32_t rank, uint64_t sequence)
{
	size_t count = 0;

	for (size_t i = 0; i < sent_count; i++)
		count += sent[i].type == RW_MESSAGE_FLIGHT && sent[i].rank == rank && sent[i].flight.sequence == sequence;
	return count;
}

Test(node_half, tells_the_first_operation_of_each_rank_that_stands_for_a_second)
{
	static const struct {
		uint64_t at_ns;
		bool killed;
		size_t first, second; /* rank 0 in its first operation, rank 1 in its second */
	} cases[] = {
		{ 11000000000 - 1, false, 0, 0 }, { 11000000000, false, 1, 0 }, { 11500000000 - 1, false, 1, 0 },
		{ 11500000000, false, 1, 1 }, { 13000000000, false, 1, 1 },
		/* Once its process has ended, whatever its age. */
		{ 10600000000, true, 1, 0 }, { 13000000000, true, 1, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		look_at_standing(cases[i].at_ns, cases[i].killed, 0);
		cr_expect_eq(flights_of(0, 0), cases[i].first, "case %zu: %zu", i, flights_of(0, 0));
		cr_expect_eq(flights_of(1, 1), cases[i].second, "case %zu: %zu", i, flights_of(1, 1));
		cr_expect_eq(count_of(RW_MESSAGE_FLIGHT), cases[i].first + cases[i].second, "case %zu: one of each rank", i);
	}
	const struct rw_message *told = find_sent(RW_MESSAGE_FLIGHT);
	cr_assert_not_null(told);
	cr_expect_eq(told->flight.count, 5);
	cr_expect_eq(told->flight.age_ms, 2998, "since its GPU came there: %u ms", told->flight.age_ms);
	cr_expect_eq(told->flight.phase, RW_PHASE_RUNNING);
	cr_expect(told->flight.flags & RW_MESSAGE_ARRIVED);
	cr_expect(told->flight.flags & RW_MESSAGE_HOLDS);
}

Test(node_half, tells_how_long_a_rank_has_stood_since_the_caller_went_on)
{
	look_at_standing(20000000000, false, 19000000000);
	cr_assert_not_null(find_sent(RW_MESSAGE_FLIGHT));
	cr_expect_eq(find_sent(RW_MESSAGE_FLIGHT)->flight.age_ms, 1000, "%u ms", find_sent(RW_MESSAGE_FLIGHT)->flight.age_ms);
}

enum called {
	LAUNCHED,
	REACHED,
	ENDED,
	UNFOLLOWED, /* launched, and without GPU progress */
	UNTRACKED,
	BESIDE, /* launched, sampled out, and with rank 2 of the same host, which has not called it */
};

struct called_transfer {
	uint8_t function; /* 0 none */
	enum called how;
};

/* Rank 0's call; a transfer is mostly with rank 1 of another host. */
static struct rw_operation called_slot(const struct called_transfer *call, uint64_t ticket)
{
	static const uint32_t known[] = {
		[LAUNCHED] = 0, [REACHED] = RW_KNOWN_STARTED, [ENDED] = RW_KNOWN_STARTED | RW_KNOWN_DONE
	};
	const uint64_t ms = 1000000, begun_ns = 10000 * ms + ticket * ms;

	return (struct rw_operation){
		.ticket = ticket,
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_TASK |
			 (call->how <= ENDED ? known[call->how] : 0),
		.flags = call->how == UNTRACKED ? RW_FLAG_UNTRACKED
			 : call->how == BESIDE  ? RW_FLAG_PROGRESS_SAMPLED_OUT
						: 0,
		.function = call->function,
		.sequence = ticket - 1,
		.count = 5,
		.api_ns = begun_ns,
		.launch_begin_ns = begun_ns,
		.launch_end_ns = begun_ns,
		.return_ns = begun_ns,
		.root_or_peer = call->function == RW_FUNCTION_ALL_REDUCE ? -1
				: call->how == BESIDE                    ? 2
									 : 1,
		.progress = call->how >= UNFOLLOWED ? 0 : ticket,
		.gpu_source = RW_GPU_SOURCE_WATERMARK,
		.started_seen_ns = call->how == REACHED || call->how == ENDED ? begun_ns : 0,
		.done_seen_ns = call->how == ENDED ? begun_ns : 0,
	};
}

/* The flight that is sent; NULL none. */
static const struct rw_message *flight_of_calls(const struct called_transfer *calls, size_t count, uint64_t dropped)
{
	const struct rw_box_header boxes[2] = {
		{ .host = "h", .job = "j", .created_ns = 1, .world_size = 3, .dropped = dropped },
		{ .host = "h", .job = "j", .created_ns = 1, .world_size = 3, .world_rank = 2 }
	};
	const struct node_identity identity = { .job = "j", .host = "h", .start = 1 };
	struct analysis *analysis = analysis_new(false, emit_nothing, NULL);
	struct node_half *half = node_half_new(analysis, &identity);

	sent_count = 0;
	for (uint32_t i = 0; i < 2; i++) {
		const struct analysis_process process = { .id = 1 + i, .pid = 7 + (int32_t)i, .box = &boxes[i] };
		const struct rw_communicator communicator = {
			.id = 9, .rank = 2 * (int32_t)i, .nranks = 3, .nnodes = 2, .created_ns = 1
		};
		cr_assert_eq(analysis_add_process(analysis, &process), 0);
		cr_assert_eq(analysis_add_communicator(analysis, 1 + i, 0, &communicator), 0);
	}
	for (size_t i = 0; i < count && calls[i].function; i++) {
		const struct rw_operation slot = called_slot(&calls[i], i + 1);
		cr_assert_eq(analysis_add_operation(analysis, 1, &slot), 0);
	}
	/* What is over is put away once no other member is expected to appear here. */
	for (uint64_t second = 11; second <= 15; second++)
		analysis_tick(analysis, second * 1000000000);
	node_half_tick(half, 15000000000, keep_sent, NULL);
	node_half_free(half);
	analysis_free(analysis);
	return find_sent(RW_MESSAGE_FLIGHT);
}

Test(node_half, says_of_a_transfer_which_end_it_is_and_whether_the_gpu_has_reached_another_one)
{
	static const struct {
		struct called_transfer calls[3];
		uint64_t dropped;
		uint8_t function;
		bool no_other, unfollowed;
	} cases[] = {
		{ { { RW_FUNCTION_SEND, REACHED } }, 0, RW_FUNCTION_SEND, true },
		{ { { RW_FUNCTION_RECV, REACHED } }, 0, RW_FUNCTION_RECV, true },
		{ { { RW_FUNCTION_SEND, REACHED }, { RW_FUNCTION_RECV, LAUNCHED } }, 0, RW_FUNCTION_SEND, true },
		{ { { RW_FUNCTION_RECV, ENDED }, { RW_FUNCTION_SEND, REACHED } }, 0, RW_FUNCTION_SEND, true },
		{ { { RW_FUNCTION_SEND, REACHED }, { RW_FUNCTION_RECV, REACHED } }, 0, RW_FUNCTION_SEND, false },
		{ { { RW_FUNCTION_SEND, REACHED }, { RW_FUNCTION_RECV, UNFOLLOWED } }, 0, RW_FUNCTION_SEND, false, true },
		{ { { RW_FUNCTION_SEND, REACHED }, { RW_FUNCTION_RECV, BESIDE } }, 0, RW_FUNCTION_SEND, false },
		{ { { RW_FUNCTION_RECV, UNFOLLOWED }, { RW_FUNCTION_SEND, REACHED } }, 0, RW_FUNCTION_SEND, false, true },
		{ { { RW_FUNCTION_RECV, UNTRACKED }, { RW_FUNCTION_SEND, REACHED } }, 0, RW_FUNCTION_SEND, false, true },
		{ { { RW_FUNCTION_SEND, REACHED } }, 1, RW_FUNCTION_SEND, false, true },
		{ { { RW_FUNCTION_ALL_REDUCE, REACHED } }, 1, RW_FUNCTION_ALL_REDUCE, false, false },
		{ { { RW_FUNCTION_RECV, ENDED }, { RW_FUNCTION_ALL_REDUCE, REACHED } }, 0, RW_FUNCTION_ALL_REDUCE, true },
		{ { { RW_FUNCTION_ALL_REDUCE, REACHED }, { RW_FUNCTION_RECV, REACHED } }, 0, RW_FUNCTION_ALL_REDUCE, false },
		{ { { RW_FUNCTION_ALL_REDUCE, REACHED } }, 0, RW_FUNCTION_ALL_REDUCE, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct rw_message *told = flight_of_calls(cases[i].calls, 3, cases[i].dropped);
		cr_assert_not_null(told, "case %zu", i);
		cr_expect_eq(told->function, cases[i].function, "case %zu: function %d", i, told->function);
		cr_expect_eq((told->flight.flags & RW_MESSAGE_NO_OTHER_TRANSFER) != 0, cases[i].no_other,
			     "case %zu: flags %x", i, told->flight.flags);
		const struct rw_message *member = find_sent(RW_MESSAGE_MEMBER);
		cr_assert_not_null(member, "case %zu", i);
		cr_expect_eq((member->member.flags & RW_MESSAGE_UNFOLLOWED) != 0, cases[i].unfollowed,
			     "case %zu: flags %x", i, member->member.flags);
		cr_expect_eq(told->flight.peer_or_root, told->function == RW_FUNCTION_ALL_REDUCE ? -1 : 1);
	}
}

Test(node_half, says_that_a_gpu_may_stand_in_an_operation_before)
{
	static const struct called_transfer unfollowed[] = { { RW_FUNCTION_RECV, UNFOLLOWED },
							     { RW_FUNCTION_ALL_REDUCE, LAUNCHED } },
					    ended[] = { { RW_FUNCTION_RECV, ENDED },
							{ RW_FUNCTION_ALL_REDUCE, LAUNCHED } };
	const struct rw_message *told = flight_of_calls(unfollowed, 2, 0);

	cr_assert(told && told->function == RW_FUNCTION_ALL_REDUCE);
	cr_expect_eq(told->flight.flags, RW_MESSAGE_BEHIND | RW_MESSAGE_HOLDS | RW_MESSAGE_STILL);
	told = flight_of_calls(ended, 2, 0);
	cr_assert(told && told->function == RW_FUNCTION_ALL_REDUCE);
	cr_expect_eq(told->flight.flags & (RW_MESSAGE_BEHIND | RW_MESSAGE_ARRIVED), 0);
}

Test(node_half, does_not_say_that_it_is_missing_while_it_waits_in_the_birth_of_a_communicator)
{
	const struct rw_init init = { .nranks = 2, .rank = 0, .since_ns = 1000000000 };

	stand_idle(&init, 1);
	for (size_t i = 0; i < sent_count; i++)
		cr_expect(sent[i].type != RW_MESSAGE_CALLS || !sent[i].function, "only which calls it made");
}

/* Two hosts with two ranks each; each rank shares a communicator with one of the other host, which has the same
 * results. */
Test(node_half, tells_of_the_results_of_each_row_of_operations)
{
	struct many_hosts_job job = { .hosts = 2,
				      .per_host = 2,
				      .shape = MANY_MESH,
				      .operations = 8,
				      .step_ms = 100,
				      .scanned = 3,
				      .seconds = 150,
				      .seed = 5 };
	const struct rw_message *told[64];
	struct many_hosts_result result;
	size_t count = 0;

	play(&job, &result);
	for (size_t i = 0; i < sent_count && count < 64; i++)
		if (sent[i].type == RW_MESSAGE_RESULTS)
			told[count++] = &sent[i];
	cr_assert_geq(count, 8);
	for (size_t i = 0; i < count; i++) {
		const struct rw_message_results *results = &told[i]->results;
		size_t alike = 0;
		cr_expect_geq(results->operations, RW_RESULTS_ROW / 3);
		cr_expect_leq(results->operations, RW_RESULTS_ROW / 3 + 1, "each counts once");
		for (size_t k = 0; k < count; k++) {
			const struct rw_message_results *other = &told[k]->results;
			if (other->comm != results->comm || other->row != results->row)
				continue;
			alike++;
			cr_expect_eq(other->set, results->set);
			cr_expect_eq(other->digests, results->digests);
		}
		cr_expect_eq(alike, 2, "row %llu is told once by either rank", (unsigned long long)results->row);
	}
}

Test(node_half, takes_only_asks_for_its_own_ranks)
{
	struct {
		struct rw_batch header;
		struct rw_message message;
	} batch = { .header = { .magic = RW_BATCH_MAGIC, .version = RW_BATCH_VERSION, .count = 1, .host = "h", .job = "j" },
		    .message = { .type = RW_MESSAGE_ASK, .rank = 7 } };
	struct analysis *analysis = analysis_new(false, emit_nothing, NULL);
	const struct node_identity identity = { .job = "j", .host = "h", .start = 1 };
	struct node_half *half = node_half_new(analysis, &identity);
	struct analysis_suspect suspects[4];
	const char *why = NULL;

	cr_expect_eq(node_half_ask(half, &batch, sizeof(batch), 1, &why), 0, "no such rank");
	batch.message.type = 99;
	cr_expect_eq(node_half_ask(half, &batch, sizeof(batch), 1, &why), 0);
	cr_expect_eq(node_half_suspects(half, suspects, 4), 0);
	cr_expect_eq(node_half_ask(half, &batch, 7, 1, &why), -EINVAL);
	cr_expect_str_eq(why, "it is shorter than a batch's header");
	batch.header.host[0] = 'g';
	cr_expect_eq(node_half_ask(half, &batch, sizeof(batch), 1, &why), -EINVAL);
	cr_expect_str_eq(why, "it is for another host");
	batch.header.job[0] = 'k';
	cr_expect_eq(node_half_ask(half, &batch, sizeof(batch), 1, NULL), -EINVAL);
	node_half_free(half);
	analysis_free(analysis);
}

Test(node_half, says_little)
{
	struct many_hosts_result result;
	const struct many_hosts_job job = {
		.hosts = 2, .per_host = 8, .shape = MANY_MESH, .operations = 100, .step_ms = 500, .seconds = 60, .seed = 5,
	};

	play(&job, &result);
	/* A row a step, which calls it made every eight seconds, and who is there a few times. */
	cr_expect_lt(result.sent_messages, 16 * (60 + 60 * 2 + 60 / 8 + 4 + 2 * 8), "%llu",
		     (unsigned long long)result.sent_messages);
	cr_expect_leq(result.longest, RW_BATCH_MAX);
}

static void note(struct node_half *half, const char *id, int32_t rank, enum rw_finding_state state)
{
	struct rw_finding finding = { .kind = RW_KIND_HANG,
				      .state = state,
				      .severity = RW_WARNING,
				      .ranks = &rank,
				      .rank_count = 1,
				      .text = "stands" };

	snprintf(finding.id, sizeof(finding.id), "%s", id);
	node_half_note_finding(half, &finding);
}

static size_t findings_of(int32_t rank, enum rw_finding_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < sent_count; i++)
		count += sent[i].type == RW_MESSAGE_FINDING && sent[i].rank == rank && sent[i].finding.state == (uint8_t)state;
	return count;
}

Test(node_half, goes_on_telling_a_finding_when_one_before_it_is_closed)
{
	struct analysis *analysis = analysis_new(false, emit_nothing, NULL);
	const struct node_identity identity = { .job = "j", .host = "h", .start = 1 };
	struct node_half *half = node_half_new(analysis, &identity);

	sent_count = 0;
	note(half, "first", 1, RW_FINDING_OPEN);
	note(half, "second", 2, RW_FINDING_OPEN);
	node_half_tick(half, 1000000000, keep_sent, NULL);
	cr_expect_eq(findings_of(1, RW_FINDING_OPEN), 1);
	cr_expect_eq(findings_of(2, RW_FINDING_OPEN), 1);
	note(half, "first", 1, RW_FINDING_CLOSED);
	note(half, "second", 2, RW_FINDING_UPDATE);
	node_half_tick(half, 2000000000, keep_sent, NULL);
	cr_expect_eq(findings_of(1, RW_FINDING_CLOSED), 1);
	cr_expect_eq(findings_of(2, RW_FINDING_UPDATE), 1);
	note(half, "second", 2, RW_FINDING_CLOSED);
	node_half_tick(half, 3000000000, keep_sent, NULL);
	cr_expect_eq(findings_of(2, RW_FINDING_CLOSED), 1);
	node_half_tick(half, 60000000000, keep_sent, NULL);
	cr_expect_eq(findings_of(1, RW_FINDING_CLOSED) + findings_of(2, RW_FINDING_CLOSED), 2, "closed ones are told once");
	node_half_free(half);
	analysis_free(analysis);
}

static struct rw_message_finding sent_of(const struct rw_finding *finding)
{
	struct analysis *analysis = analysis_new(false, emit_nothing, NULL);
	const struct node_identity identity = { .job = "j", .host = "h", .start = 1 };
	struct node_half *half = node_half_new(analysis, &identity);

	sent_count = 0;
	node_half_note_finding(half, finding);
	node_half_tick(half, 1000000000, keep_sent, NULL);
	node_half_free(half);
	analysis_free(analysis);
	const struct rw_message *message = find_sent(RW_MESSAGE_FINDING);
	cr_assert_not_null(message);
	cr_expect_eq(count_of(RW_MESSAGE_FINDING), 1);
	cr_expect_eq(message->rank, 4);
	return message->finding;
}

/* What no number can say is sent as unknown, and not as another number. */
Test(node_half, tells_of_a_finding_how_much_it_costs_and_how_old_it_is)
{
	static const struct {
		bool present;
		double share;
		uint32_t ppm;
	} costs[] = {
		{ true, 0, 0 },
		{ true, 0.25, 250000 },
		{ true, 1000, 1000000000 },
		{ true, 1000.5, UINT32_MAX },
		{ true, -1, UINT32_MAX },
		{ false, 0.25, UINT32_MAX },
	};
	static const struct {
		uint64_t first_ns, now_ns;
		uint32_t age_ms;
	} ages[] = { { 5000000, 5000000, 0 },
		     { 6000000, 5000000, 0 },
		     { 1000000, 9999999, 8 },
		     { 0, UINT64_MAX, RW_MESSAGE_AGE_MAX } };
	const int32_t rank = 4;
	struct rw_finding finding = { .id = "f",
				      .kind = RW_KIND_STRAGGLER,
				      .severity = RW_WARNING,
				      .ranks = &rank,
				      .rank_count = 1,
				      .text = "is late",
				      .late.kind = RW_LATE_HOST };

	for (size_t i = 0; i < sizeof(costs) / sizeof(*costs); i++) {
		finding.late.present = costs[i].present;
		finding.late.lost_share = costs[i].share;
		struct rw_message_finding told = sent_of(&finding);
		cr_expect_eq(told.lost_ppm, costs[i].ppm, "%f: %u", costs[i].share, told.lost_ppm);
		cr_expect_eq(told.late_kind, costs[i].present ? RW_LATE_HOST : RW_LATE_NONE);
	}
	for (size_t i = 0; i < sizeof(ages) / sizeof(*ages); i++) {
		finding.first_seen_ns = ages[i].first_ns;
		finding.time_ns = ages[i].now_ns;
		struct rw_message_finding told = sent_of(&finding);
		cr_expect_eq(told.age_ms, ages[i].age_ms, "case %zu: %u", i, told.age_ms);
	}
}

/* The analysis goes on when the half is freed, and may have got another one by then. */
Test(node_half, what_is_freed_hears_nothing_more)
{
	struct analysis *analysis = analysis_new(false, emit_nothing, NULL);
	const struct node_identity identity = { .job = "j", .host = "h", .start = 1 };
	struct node_half *first = node_half_new(analysis, &identity), *second = node_half_new(analysis, &identity);

	node_half_free(first);
	cr_expect_eq(analysis->account.passage_argument, second);
	cr_expect_eq(analysis->values.visit_argument, second);
	cr_expect(analysis->account.visit_passage && analysis->values.visit);
	node_half_free(second);
	cr_expect(!analysis->account.visit_passage && !analysis->account.passage_argument);
	cr_expect(!analysis->values.visit && !analysis->values.visit_argument);
	node_half_free(NULL);
	analysis_free(analysis);
}
