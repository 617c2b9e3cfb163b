/* SPDX-License-Identifier: MIT */
/* What a host remembers of its ranks and communicators to send messages: when it repeats them, where their rows end,
 * and which rows of results it adds up. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "analysis/measure/lateness.h"
#include "analysis/node/row_reports.h"
#include "analysis/node/results.h"
#include "analysis/node/roster.h"
#include "analysis/known/values.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

/* One rank of a communicator of two hosts. */
static struct {
	struct process process;
	struct rank rank;
	struct member member;
	struct communicator communicator;
	struct job job;
	struct roster roster;
	struct outbox outbox;
} host;

static void setup(void)
{
	static const struct node_identity identity = { .job = "j", .host = "h", .start = 1 };

	memset(&host, 0, sizeof(host));
	host.process.id = 1;
	host.rank.process = &host.process;
	host.member.process = &host.process;
	host.communicator = (struct communicator){
		.id = 9, .told_id = 9, .size = 2, .hosts = 2, .members = &host.member, .member_count = 1
	};
	host.job.ranks = &host.rank;
	host.job.rank_count = 1;
	outbox_begin(&host.outbox, &identity);
}

static void teardown(void)
{
	roster_free(&host.roster);
	outbox_free(&host.outbox);
}

TestSuite(roster, .init = setup, .fini = teardown);
TestSuite(row_ends, .init = setup, .fini = teardown);
TestSuite(results, .init = setup, .fini = teardown);

Test(roster, what_stays_true_is_sent_again_after_pauses_that_double)
{
	static const uint64_t pauses_s[] = { 2, 4, 8, 16, 30, 30, 30 };
	struct said said = { 0 };
	uint64_t at_ns = 5 * SECOND;

	for (int turn = 0; turn < 2; turn++) {
		cr_expect(roster_is_due(&said, turn ? "bc" : "bb", 2, at_ns), "what is new is sent at once");
		for (size_t i = 0; i < sizeof(pauses_s) / sizeof(*pauses_s); i++) {
			uint64_t next_ns = at_ns + pauses_s[i] * SECOND;
			cr_expect_not(roster_is_due(&said, turn ? "bc" : "bb", 2, next_ns - 1), "less than %lu s", pauses_s[i]);
			cr_expect(roster_is_due(&said, turn ? "bc" : "bb", 2, next_ns), "%lu s", pauses_s[i]);
			at_ns = next_ns;
		}
		at_ns += 1;
	}
}

/* Communicators with these indexes, whose one member has its index as the shift of its rows. */
enum { COMMS = 20 };

static void add_comms(struct communicator *communicators)
{
	for (uint32_t i = 0; i < COMMS; i++) {
		uint32_t index = i * 7 % COMMS; /* in no order */
		communicators[index] = (struct communicator){
			.id = 100 + index, .index = index, .hosts = 1, .members = &host.member, .member_count = 1
		};
		struct roster_member *member = roster_member(&host.roster, &communicators[index], 0);
		cr_assert_not_null(member);
		member->row_ends.by_calls.shift = (uint8_t)index;
		member->results = calloc(1, sizeof(*member->results));
	}
}

Test(roster, communicators_are_kept_by_index_in_whatever_order_they_come)
{
	struct communicator communicators[COMMS];

	add_comms(communicators);
	cr_expect_eq(host.roster.comm_count, COMMS);
	for (uint32_t i = 0; i < COMMS; i++) {
		cr_expect_eq(host.roster.comms[i].index, i);
		cr_expect_eq(roster_member(&host.roster, &communicators[i], 0)->row_ends.by_calls.shift, i);
	}
	cr_expect_eq(host.roster.comm_count, COMMS, "asking makes no new ones");
}

/* Whichever it is: the first, the last, some in a row. */
Test(roster, communicators_that_were_given_back_are_forgotten_and_the_others_are_not)
{
	for (unsigned mask = 0; mask < 32; mask++) {
		struct communicator communicators[COMMS], *left[COMMS];

		roster_free(&host.roster);
		host.roster = (struct roster){ 0 };
		add_comms(communicators);
		host.job = (struct job){ .communicators = left };
		for (uint32_t i = 0; i < COMMS; i++)
			if (!(mask >> (i < 2 ? i : i < 17 ? 2 : i < 19 ? 3 : 4) & 1))
				left[host.job.communicator_count++] = &communicators[i];
		roster_tick(&host.roster, &host.job, &host.outbox, SECOND);
		cr_expect_eq(host.roster.comm_count, host.job.communicator_count, "mask %u: %u of %u", mask, host.roster.comm_count,
			     host.job.communicator_count);
		for (uint32_t i = 0; i < host.job.communicator_count; i++)
			cr_expect_eq(roster_member(&host.roster, left[i], 0)->row_ends.by_calls.shift, left[i]->index,
				     "mask %u: %u", mask, left[i]->index);
		cr_expect_eq(host.roster.comm_count, host.job.communicator_count, "mask %u: all of them were known", mask);
	}
}

Test(roster, another_communicator_or_process_in_the_same_place_begins_anew)
{
	roster_member(&host.roster, &host.communicator, 0)->row_ends.by_calls.shift = 3;
	cr_expect_eq(roster_member(&host.roster, &host.communicator, 0)->row_ends.by_calls.shift, 3);
	host.communicator.id = 10;
	cr_expect_eq(roster_member(&host.roster, &host.communicator, 0)->row_ends.by_calls.shift, 0, "another communicator");
	roster_member(&host.roster, &host.communicator, 0)->row_ends.by_calls.shift = 3;
	roster_rank(&host.roster, &host.job, 0)->own_ns = 5;
	cr_expect_eq(roster_rank(&host.roster, &host.job, 0)->own_ns, 5);
	host.process.id = 2;
	cr_expect_eq(roster_member(&host.roster, &host.communicator, 0)->row_ends.by_calls.shift, 0, "another process");
	cr_expect_eq(roster_rank(&host.roster, &host.job, 0)->own_ns, 0, "another process");
}

static void note_operation(uint8_t function, uint64_t sequence, const struct operation *operation,
			   const struct account_passage *times)
{
	struct operation own = *operation;
	struct instance instance = { .communicator = &host.communicator,
				     .function = function,
				     .sequence = sequence,
				     .count = 1,
				     .source = -1,
				     .target = -1,
				     .operations = &own };
	struct account_passage passage = *times;

	passage.instance = &instance;
	row_reports_note(&host.roster, &host.job, &passage, &host.outbox);
}

/* A rank that was busy before an operation was so by its host where the host launched late, and by its GPU where it
 * launched in time. Both times are polled: what is too near to tell is neither. */
Test(row_ends, own_work_is_the_hosts_up_to_its_launch)
{
	enum { OWN_NS = 100000000, NEAR_NS = LATENESS_NOISE_NS };
	static const struct {
		uint64_t own_ns, launch_ns; /* since the operation before */
		uint64_t host_ns, device_ns;
	} cases[] = {
		{ OWN_NS, 0, 0, OWN_NS },
		{ OWN_NS, NEAR_NS, 0, OWN_NS },
		{ OWN_NS, NEAR_NS + 1, NEAR_NS + 1, 0 },
		{ OWN_NS, OWN_NS - 1, OWN_NS - 1, 0 },
		{ OWN_NS, OWN_NS, OWN_NS, 0 },
		{ OWN_NS, OWN_NS + 1, OWN_NS, 0 },
		{ 2 * NEAR_NS, 0, 0, 0 },
		{ 2 * NEAR_NS + 1, 0, 0, 2 * NEAR_NS + 1 },
		{ 3 * NEAR_NS, NEAR_NS, 0, 0 },
		{ 3 * NEAR_NS + 1, NEAR_NS, 0, 3 * NEAR_NS + 1 },
		{ 0, OWN_NS, 0, 0 },
	};
	uint64_t host_ns = 0, device_ns = 0, own_ns = 0;

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		note_operation(RW_FUNCTION_ALL_REDUCE, i,
			       &(struct operation){ .launch_ns = SECOND + cases[i].launch_ns, .done_ns = 2 * SECOND },
			       &(struct account_passage){
				   .from_ns = SECOND, .own_ns = cases[i].own_ns, .inside_ns = 3, .unseen_ns = 4 });
		const struct roster_rank *rank = roster_rank(&host.roster, &host.job, 0);
		own_ns += cases[i].own_ns;
		host_ns += cases[i].host_ns;
		device_ns += cases[i].device_ns;
		cr_expect_eq(rank->own_ns, own_ns);
		cr_expect_eq(rank->host_ns, host_ns, "case %u: %lu of %lu ns", i, rank->host_ns, host_ns);
		cr_expect_eq(rank->device_ns, device_ns, "case %u: %lu of %lu ns", i, rank->device_ns, device_ns);
		cr_expect_eq(rank->inside_ns, 3 * (i + 1));
		cr_expect_eq(rank->unseen_ns, 4 * (i + 1));
		cr_expect_eq(rank->operations, i + 1);
	}
}

Test(row_ends, a_row_lasts_neither_too_short_nor_too_long)
{
	static const struct {
		uint8_t shift;
		uint64_t last_ns, lasted_ns;
		uint32_t seen; /* operations before those below */
		uint8_t then;
	} cases[] = {
		{ 0, SECOND, ROW_ENDS_SHORT_NS - 1, 0, 1 },
		{ 0, SECOND, ROW_ENDS_SHORT_NS, 0, 0 },
		{ 0, 0, ROW_ENDS_SHORT_NS - 1, 0, 0 }, /* the first row: how long it lasted is not known */
		{ 3, SECOND, ROW_ENDS_SHORT_NS - 1, 6, 4 },
		{ 3, SECOND, ROW_ENDS_SHORT_NS - 1, 2, 3 }, /* half as many: the last row was of a smaller shift */
		{ ROW_ENDS_SHIFT_MAX - 1, SECOND, 0, 0, ROW_ENDS_SHIFT_MAX }, /* all seen in one look */
		{ ROW_ENDS_SHIFT_MAX, SECOND, 0, 0, ROW_ENDS_SHIFT_MAX },
		{ 2, SECOND, ROW_ENDS_LONG_NS, 2, 2 },
		{ 2, SECOND, ROW_ENDS_LONG_NS + UINT64_C(1), 2, 1 },
		{ 0, SECOND, ROW_ENDS_LONG_NS + UINT64_C(1), 0, 0 },
	};

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct row_calls *by = &roster_member(&host.roster, &host.communicator, 0)->row_ends.by_calls;
		struct operation operation = { .done_ns = cases[i].last_ns + cases[i].lasted_ns };
		uint64_t sequence = (UINT64_C(3) << cases[i].shift) - 1; /* numbers are counted from 1 */

		host.outbox.count = 0;
		*by = (struct row_calls){ .function = RW_FUNCTION_ALL_REDUCE, .shift = cases[i].shift, .last_ns = cases[i].last_ns,
				      .looked_ns = cases[i].last_ns, .seen = cases[i].seen };
		if (cases[i].shift) {
			note_operation(RW_FUNCTION_ALL_REDUCE, sequence - 1, &operation, &(struct account_passage){ 0 });
			cr_expect_eq(host.outbox.count, 0, "case %u: no row ends after another number", i);
		}
		note_operation(RW_FUNCTION_ALL_REDUCE, sequence, &operation, &(struct account_passage){ 0 });
		cr_expect_eq(host.outbox.count, 1, "case %u: one row", i);
		cr_expect_eq((uint64_t)host.outbox.messages[0].row.row * host.outbox.messages[0].row.calls, sequence + 1);
		cr_expect_eq(host.outbox.messages[0].row.steps, 0, "they are not known");
		cr_expect_eq(by->shift, cases[i].then, "case %u: %u", i, by->shift);
		cr_expect_eq(by->last_ns, operation.done_ns);
	}
}

/* Where no row ends, the shift is lowered by how fast operations come, and by one at least: with only some of them
 * seen, what is seen may never have such a number. */
Test(row_ends, the_shift_falls_while_no_row_ends)
{
	static const struct {
		uint64_t each_ns;
		uint8_t then;
	} cases[] = { { ROW_ENDS_LONG_NS / 4096, 11 },
		      { ROW_ENDS_LONG_NS / 128, 7 },
		      { ROW_ENDS_LONG_NS / 8, 3 },
		      { ROW_ENDS_LONG_NS, 0 },
		      { 3 * SECOND * SECOND, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct row_calls *by = &roster_member(&host.roster, &host.communicator, 0)->row_ends.by_calls;
		uint64_t done_ns = SECOND, number = 4097;

		host.outbox.count = 0;
		*by = (struct row_calls){ .function = RW_FUNCTION_ALL_REDUCE,
					  .shift = 12,
					  .seen_ns = SECOND,
					  .last_ns = SECOND,
					  .looked_ns = SECOND };
		while (by->shift == 12 && number < 2 * 4096 - 1) {
			done_ns += cases[i].each_ns;
			note_operation(RW_FUNCTION_ALL_REDUCE, number++, &(struct operation){ .done_ns = done_ns },
				       &(struct account_passage){ 0 });
		}
		cr_expect_eq(host.outbox.count, 0, "case %zu: no number was that of an end", i);
		cr_expect_eq(by->shift, number == 2 * 4096 - 1 ? 12 : cases[i].then, "case %zu: %u after %lu ns", i,
			     by->shift, done_ns);
		cr_expect_eq(by->last_ns, SECOND, "case %zu", i);
	}
}

/* Which function ends rows is the same on all hosts, whichever of them they have seen first: the one that was called
 * most, as a power of two, of such as are called. */
Test(row_ends, another_function_ends_rows_where_it_is_called_more_or_the_first_no_longer)
{
	enum { FIRST = RW_FUNCTION_ALL_REDUCE, BEFORE = RW_FUNCTION_ALL_GATHER, BEHIND = RW_FUNCTION_REDUCE_SCATTER };
	static const struct {
		uint8_t function;
		uint64_t number, after_ns; /* of the first one's: 100 */
		bool taken;
	} cases[] = {
		{ BEHIND, 1, SECOND, false },
		{ BEHIND, 1, ROW_ENDS_STALE_NS, false },
		{ BEHIND, 1, ROW_ENDS_STALE_NS + UINT64_C(1), true },
		{ BEHIND, 127, SECOND, false },
		{ BEHIND, 128, SECOND, true },
		{ BEHIND, 0, SECOND, false },
		{ BEFORE, 63, SECOND, false },
		{ BEFORE, 64, SECOND, true },
		{ BEFORE, 63, ROW_ENDS_STALE_NS + UINT64_C(1), true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct row_calls *by = &roster_member(&host.roster, &host.communicator, 0)->row_ends.by_calls;
		uint8_t function = cases[i].function;

		host.outbox.count = 0;
		/* That its last row ended long ago does not say that it is no longer called. */
		*by = (struct row_calls){ .function = FIRST,
					  .shift = 7,
					  .number = 100,
					  .seen_ns = 100 * SECOND,
					  .last_ns = SECOND,
					  .looked_ns = 100 * SECOND };
		note_operation(function, cases[i].number - 1,
			       &(struct operation){ .done_ns = 100 * SECOND + cases[i].after_ns },
			       &(struct account_passage){ 0 });
		cr_expect_eq(host.outbox.count, cases[i].taken, "case %zu", i);
		cr_expect_eq(by->function, cases[i].taken ? function : FIRST, "case %zu", i);
		cr_expect_eq(by->shift, cases[i].taken ? 0 : 7, "case %zu", i);
	}
}

static void scan(uint8_t function, uint64_t sequence, uint64_t digest, uint64_t now_ns)
{
	struct value value = { .known = 1u << VALUE_OUT, .scans[VALUE_OUT].digest = digest };
	struct instance instance = { .communicator = &host.communicator, .function = function & (uint8_t)~RW_MESSAGE_APART,
				     .by_interposer = function & RW_MESSAGE_APART, .sequence = sequence, .count = 1, .source = -1,
				     .target = -1, .values = &value, .value_room = 1 };

	results_note(&host.roster, &host.job, &instance, &host.outbox, now_ns);
}

/* Each operation of a row counts once, also when it is scanned again; a row is sent when half of the next one has come.
 */
Test(results, a_row_is_sent_when_half_of_the_next_has_come)
{
	uint32_t rows = 0;

	for (uint64_t sequence = 0; sequence < 5 * RW_RESULTS_ROW; sequence++) {
		bool due = sequence % RW_RESULTS_ROW >= RW_RESULTS_ROW / 2 && rows < sequence / RW_RESULTS_ROW;
		for (int again = 0; again < 2; again++)
			scan(RW_FUNCTION_ALL_REDUCE, sequence, 1000 + sequence, SECOND);
		rows += due;
		cr_assert_eq(host.outbox.count, rows, "%u rows after %lu operations", host.outbox.count, sequence + 1);
		if (!due)
			continue;
		const struct rw_message_results *results = &host.outbox.messages[rows - 1].results;
		uint64_t first = results->row * RW_RESULTS_ROW,
			 sum = RW_RESULTS_ROW * (1000 + first) + RW_RESULTS_ROW * (RW_RESULTS_ROW - 1) / 2;
		cr_expect_eq(results->comm, 9);
		cr_expect_eq(results->row, rows - 1, "row %lu", results->row);
		cr_expect_eq(results->operations, RW_RESULTS_ROW, "%u operations", results->operations);
		cr_expect_eq(results->digests, sum, "row %lu: %lu", results->row, results->digests);
	}
	cr_expect_eq(rows, 4);
	scan(RW_FUNCTION_ALL_REDUCE, 3 * RW_RESULTS_ROW + 5, 1, SECOND);
	scan(RW_FUNCTION_ALL_REDUCE, 5 * RW_RESULTS_ROW - 1, 1, SECOND);
	cr_expect_eq(host.outbox.count, 4, "a scan that ends late sends no row again");
}

/* Hosts compare only rows of the same operations, so the releases of all hosts must number them alike: by splitmix64,
 * whose first outputs from the seeds 0 and 1 these are (Vigna). */
Test(results, the_set_of_operations_is_the_sum_of_splitmix64)
{
	static const struct {
		uint64_t sequence, output;
	} cases[] = { { 0, 0xe220a8397b1dcdaf }, { 1, 0x910a2dec89025cc1 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		teardown();
		setup();
		scan(RW_FUNCTION_ALL_REDUCE, cases[i].sequence, 3, SECOND);
		scan(RW_FUNCTION_ALL_REDUCE, RW_RESULTS_ROW + RW_RESULTS_ROW / 2, 3, SECOND);
		cr_assert_eq(host.outbox.count, 1);
		cr_expect_eq(host.outbox.messages[0].results.set, cases[i].output, "%lx", host.outbox.messages[0].results.set);
		cr_expect_eq(host.outbox.messages[0].results.operations, 1);
	}
}

/* Which functions have rows, after three others had them. */
Test(results, a_function_that_is_no_longer_called_gives_its_rows_to_another_one)
{
	static const struct {
		uint64_t after_ns;
		uint8_t function; /* of the first rows */
	} cases[] = { { SECOND, RW_FUNCTION_ALL_REDUCE },
		      { RESULTS_STALE_NS, RW_FUNCTION_ALL_REDUCE },
		      { RESULTS_STALE_NS + UINT64_C(1), RW_FUNCTION_BROADCAST } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		teardown();
		setup();
		scan(RW_FUNCTION_ALL_REDUCE, 0, 1, SECOND);
		scan(RW_FUNCTION_ALL_GATHER, 0, 1, 2 * SECOND);
		scan(RW_FUNCTION_ALL_REDUCE | RW_MESSAGE_APART, 0, 1, 2 * SECOND);
		scan(RW_FUNCTION_BROADCAST, 0, 1, SECOND + cases[i].after_ns);
		const struct result_rows *rows = roster_member(&host.roster, &host.communicator, 0)->results;
		cr_assert_not_null(rows);
		cr_expect_eq(rows[0].function, cases[i].function, "case %zu: %u", i, rows[0].function);
		cr_expect_eq(rows[1].function, RW_FUNCTION_ALL_GATHER);
	}
}
