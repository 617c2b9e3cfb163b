/* SPDX-License-Identifier: MIT */
/* Both sides of what a feed decides: when something is passed on, how much of it, and what a damaged or lost part
 * costs. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "feed/feed.h"
#include "tests/unit/blackbox/fixture.h"
#include "tests/unit/feed/recording.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

static struct box_writer writer;
static struct analysis analysis;

static void finish(void)
{
	recording_free(&analysis);
	fixture_remove();
}

TestSuite(limits, .fini = finish);

static struct feed *start(void)
{
	return recording_start(&analysis, &writer);
}

static const struct recorded *told(enum recorded_kind kind, size_t n)
{
	const struct recorded *record = recording_find(&analysis, kind, n);

	cr_assert_not_null(record, "only %zu of kind %d", recording_count(&analysis, kind), (int)kind);
	return record;
}

Test(limits, the_process_is_told_with_the_pid_of_who_was_proven_to_write)
{
	struct feed *feed = start();

	feed_set_writer(feed, 4321);
	cr_assert_eq(feed_poll(feed, MS), 0);
	cr_expect_eq(told(RECORDED_PROCESS, 0)->process_told.pid, 4321);
	cr_expect_not(told(RECORDED_PROCESS, 0)->process_told.pid_unproven);
	cr_expect_eq(told(RECORDED_PROCESS, 0)->process_told.start_time_ticks, writer.header->start_time_ticks);
	feed_free(feed);
}

Test(limits, the_process_is_told_with_the_boxs_pid_where_nobody_was_proven)
{
	struct feed *feed = start();

	writer.header->pid = 1234;
	feed_set_writer(feed, 0);
	cr_assert_eq(feed_poll(feed, MS), 0);
	cr_expect_eq(told(RECORDED_PROCESS, 0)->process_told.pid, 1234);
	cr_expect(told(RECORDED_PROCESS, 0)->process_told.pid_unproven);
	feed_free(feed);
}

Test(limits, the_process_is_told_with_the_boxs_pid_where_nobody_looked)
{
	struct feed *feed = start();

	writer.header->pid = 1234;
	cr_assert_eq(feed_poll(feed, MS), 0);
	cr_expect_eq(told(RECORDED_PROCESS, 0)->process_told.pid, 1234);
	cr_expect_not(told(RECORDED_PROCESS, 0)->process_told.pid_unproven);
	cr_expect_eq(recording_count(&analysis, RECORDED_PROCESS), 1);
	cr_assert_eq(feed_poll(feed, 2 * MS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_PROCESS), 1, "once");
	feed_free(feed);
}

Test(limits, a_communicator_in_the_making_is_told_before_there_is_any_and_when_it_is_over)
{
	struct feed *feed = start();

	writer.header->comms_used = 0;
	writer.header->init.id = 99;
	writer.header->init.nranks = 8;
	writer.header->init.rank = 3;
	writer.header->init.since_ns = 5 * MS;
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	cr_expect_eq(analysis.records[0].kind, RECORDED_PROCESS);
	cr_expect_eq(told(RECORDED_INIT, 0)->init.since_ns, 5 * MS);
	cr_expect_eq(told(RECORDED_INIT, 0)->init.id, 99);
	cr_expect_eq(told(RECORDED_INIT, 0)->init.rank, 3);
	cr_assert_eq(feed_poll(feed, 20 * MS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_INIT), 1, "nothing changed");
	writer.header->init.since_ns = 25 * MS;
	cr_assert_eq(feed_poll(feed, 30 * MS), 0);
	cr_expect_eq(told(RECORDED_INIT, 1)->init.since_ns, 25 * MS, "the next one");
	writer.header->init.since_ns = 0;
	cr_assert_eq(feed_poll(feed, 40 * MS), 0);
	cr_expect_eq(told(RECORDED_INIT, 2)->init.since_ns, 0, "it is over");
	cr_expect_eq(recording_count(&analysis, RECORDED_PROCESS), 1);
	feed_free(feed);
}

Test(limits, a_process_that_makes_nothing_is_not_told)
{
	struct feed *feed = start();

	writer.header->comms_used = 0;
	fixture_operation(&writer, 0, MS);
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	cr_expect_eq(analysis.count, 0);
	feed_free(feed);
}

Test(limits, communicators_are_told_by_their_entries_however_many_there_are)
{
	enum { COMMUNICATORS = 130, MISSING = 64 };
	struct feed *feed = start();
	size_t n = 0;

	for (uint32_t i = 0; i < COMMUNICATORS; i++) {
		writer.communicators[i].created_ns = i == MISSING ? 0 : 1 + i;
		writer.communicators[i].id = 1000 + i;
		writer.gpu[i].gpu_started = 2000 + i;
		writer.gpu[i].gpu_done = 1000 + i;
	}
	writer.header->comms_used = COMMUNICATORS;
	cr_assert_eq(feed_poll(feed, MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_COMMUNICATOR), COMMUNICATORS - 1);
	cr_assert_eq(recording_count(&analysis, RECORDED_PROGRESS), COMMUNICATORS - 1);
	for (uint32_t i = 0; i < COMMUNICATORS; i++) {
		if (i == MISSING)
			continue;
		cr_expect_eq(told(RECORDED_COMMUNICATOR, n)->index, i);
		cr_expect_eq(told(RECORDED_COMMUNICATOR, n)->communicator.id, 1000 + i);
		cr_expect_eq(told(RECORDED_PROGRESS, n)->index, i);
		cr_expect_eq(told(RECORDED_PROGRESS, n)->started, 2000 + i);
		cr_expect_eq(told(RECORDED_PROGRESS, n)->done, 1000 + i);
		n++;
	}
	feed_free(feed);
}

Test(limits, a_communicator_is_told_again_when_it_has_changed_and_the_box_with_it)
{
	struct feed *feed = start();

	cr_assert_eq(feed_poll(feed, MS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_BOX), 1);
	writer.communicators[0].ended_ns = 2 * MS;
	cr_assert_eq(feed_poll(feed, 3 * MS), 0);
	cr_expect_eq(told(RECORDED_COMMUNICATOR, 1)->communicator.ended_ns, 2 * MS);
	cr_expect_eq(recording_count(&analysis, RECORDED_BOX), 2);
	feed_free(feed);
}

/* They are read 64 at a time, and of those only what has changed. */
Test(limits, a_change_behind_communicators_that_have_not_changed_is_seen)
{
	enum { COMMUNICATORS = 130, CHANGED = 129 };
	struct feed *feed = start();

	for (uint32_t i = 0; i < COMMUNICATORS; i++)
		writer.communicators[i].created_ns = 1;
	writer.header->comms_used = COMMUNICATORS;
	cr_assert_eq(feed_poll(feed, MS), 0);
	writer.communicators[CHANGED].ended_ns = 2 * MS;
	cr_assert_eq(feed_poll(feed, 3 * MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_COMMUNICATOR), COMMUNICATORS + 1);
	cr_expect_eq(told(RECORDED_COMMUNICATOR, COMMUNICATORS)->index, CHANGED);
	feed_free(feed);
}

Test(limits, in_a_replay_a_communicator_ends_when_it_ended)
{
	struct feed *feed = start();

	writer.header->created_ns = S;
	writer.header->boot_id[0] ^= 1;
	writer.communicators[0].created_ns = S;
	writer.communicators[0].ended_ns = 3 * S;
	feed_replay(&feed, 1, &analysis, NULL, NULL);
	cr_assert_eq(recording_count(&analysis, RECORDED_COMMUNICATOR), 2);
	cr_expect_eq(told(RECORDED_COMMUNICATOR, 0)->communicator.ended_ns, 0);
	cr_expect_eq(told(RECORDED_COMMUNICATOR, 1)->communicator.ended_ns, 3 * S);
	cr_expect_eq(told(RECORDED_TICK, recording_count(&analysis, RECORDED_TICK) - 1)->at_ns, 3 * S + 1);
	feed_free(feed);
}

Test(limits, the_plugins_heartbeat_is_passed_on)
{
	struct feed *feed = start();

	writer.header->drain_ns = 5 * MS;
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	cr_expect_eq(told(RECORDED_HEARTBEAT, 0)->at_ns, 5 * MS);
	feed_free(feed);
}

Test(limits, what_scans_have_done_and_cost_is_passed_on_with_it)
{
	struct feed *feed = start();

	writer.header->drain_ns = 5 * MS;
	writer.header->scan_buffers = 7;
	writer.header->scan_sampled_out = 3;
	writer.header->scan_host_ns = 2 * MS;
	writer.header->scan_gpu_ns = 4 * MS;
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	const struct analysis_scanning *scanning = &told(RECORDED_SCANNING, 0)->scanning;

	cr_expect(scanning->buffers == 7 && scanning->left_out == 3);
	cr_expect(scanning->host_ns == 2 * MS && scanning->gpu_ns == 4 * MS);
	feed_free(feed);
}

Test(limits, a_copy_of_a_living_process_has_no_end)
{
	fixture_create(&writer);
	writer.header->boot_id[0] ^= 1;
	writer.header->end = RW_BOX_COPIED;
	struct feed *feed = start();

	cr_assert_eq(feed_poll(feed, MS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_LIFE), 0);
	feed_free(feed);
}

Test(limits, lack_of_memory_in_the_analysis_is_an_error_and_a_refusal_is_not)
{
	struct feed *feed = start();

	fixture_operation(&writer, 0, MS);
	analysis.answer = -EINVAL;
	cr_expect_eq(feed_poll(feed, 2 * MS), 1);
	cr_expect_eq(feed_error(feed), 0);
	fixture_operation(&writer, 1, 3 * MS);
	analysis.answer = -ENOMEM;
	cr_expect_eq(feed_poll(feed, 4 * MS), -ENOMEM);
	cr_expect_eq(feed_error(feed), -ENOMEM);
	cr_expect_eq(feed_rejected(feed), 1, "the refusal alone");
	feed_free(feed);
}

Test(limits, the_first_error_is_kept)
{
	struct feed *feed = start();

	fixture_operation(&writer, 0, MS);
	analysis.answer = -ENOMEM;
	cr_expect_eq(feed_poll(feed, 2 * MS), -ENOMEM);
	cr_assert_eq(ftruncate(writer.fd, 4096), 0);
	cr_expect_eq(feed_poll(feed, 3 * MS), -ENOMEM);
	cr_expect_eq(feed_error(feed), -ENOMEM);
	feed_free(feed);
}

/* Unfinished ones that lie close together are read in one go of 64. */
Test(limits, unfinished_operations_are_read_again_however_far_apart_they_are)
{
	static const uint64_t apart[] = { 1, 62, 63, 64, 65, 200 };
	uint64_t tickets[7], sequence = 0;
	struct feed *feed = start();

	tickets[0] = fixture_operation(&writer, sequence++, MS);
	for (size_t i = 0; i < 6; i++) {
		for (uint64_t between = 1; between < apart[i]; between++)
			fixture_finish(&writer, fixture_operation(&writer, sequence++, MS));
		tickets[i + 1] = fixture_operation(&writer, sequence++, MS);
	}
	cr_assert_eq(feed_poll(feed, 10 * MS), (int)sequence);
	for (size_t i = 0; i < 7; i++)
		fixture_finish(&writer, tickets[i]);
	cr_expect_eq(feed_poll(feed, 20 * MS), 7);
	for (size_t i = 0; i < 7; i++)
		cr_expect_eq(told(RECORDED_OPERATION, sequence + i)->operation.ticket, tickets[i]);
	cr_expect_eq(feed_poll(feed, 30 * MS), 0);
	feed_free(feed);
}

Test(limits, a_claim_is_waited_for_a_second_and_not_a_nanosecond_longer)
{
	struct feed *feed = start();
	uint64_t slow;

	box_claim(&writer, RW_OWNER_HOST, &slow);
	fixture_operation(&writer, 1, 2 * MS);
	cr_expect_eq(feed_poll(feed, 10 * MS), 0);
	cr_expect_eq(feed_poll(feed, 10 * MS + S), 0);
	cr_expect_eq(feed_poll(feed, 10 * MS + S + 1), 1);
	feed_free(feed);
}

Test(limits, each_claim_in_the_making_is_waited_for_from_when_it_was_met)
{
	struct feed *feed = start();
	uint64_t first, second;

	box_claim(&writer, RW_OWNER_HOST, &first);
	box_claim(&writer, RW_OWNER_HOST, &second);
	fixture_operation(&writer, 1, 2 * MS);
	cr_expect_eq(feed_poll(feed, 10 * MS), 0);
	cr_expect_eq(feed_poll(feed, 10 * MS + S + 1), 0, "the second one's time has begun");
	cr_expect_eq(feed_poll(feed, 10 * MS + 2 * S + 1), 0);
	cr_expect_eq(feed_poll(feed, 10 * MS + 2 * S + 2), 1);
	feed_free(feed);
}

/* A thread that was interrupted between its claim and its first write to the slot, which has an operation of a turn
 * before that is in flight, and ends before the thread goes on. Returns how many are passed then, when the box is read
 * behind this time. */
static int passed_when_it_goes_on(uint64_t at_ns)
{
	struct feed *feed = start();

	uint64_t older = fixture_operation(&writer, 0, MS);
	for (uint64_t i = 1; i < RW_BOX_RING_MIN; i++)
		fixture_finish(&writer, fixture_operation(&writer, i, MS));
	cr_assert_eq(feed_poll(feed, 5 * MS), RW_BOX_RING_MIN);
	uint64_t claim = atomic_fetch_add(&writer.header->head, 1);
	fixture_operation(&writer, claim + 1, 2 * MS);
	cr_assert_eq(feed_poll(feed, 10 * MS), 1, "those behind it do not wait");
	cr_assert_eq(feed_poll(feed, at_ns), 0);
	fixture_finish(&writer, older);
	uint64_t head = atomic_exchange(&writer.header->head, claim);
	cr_assert_eq(fixture_operation(&writer, claim, 2 * MS), claim + 1);
	atomic_store(&writer.header->head, head);
	int passed = feed_poll(feed, at_ns + 1);
	feed_free(feed);
	finish();
	writer = (struct box_writer){ 0 };
	return passed;
}

Test(limits, a_claim_whose_slot_has_still_an_older_operation_is_read_again_for_a_second)
{
	cr_expect_eq(passed_when_it_goes_on(10 * MS + S), 1);
	cr_expect_eq(passed_when_it_goes_on(10 * MS + S + 1), 0);
}

/* Wherever in the ring they are: in the order in which they were called, and before everything that is newer. */
Test(limits, operations_in_flight_for_many_turns_of_the_ring_come_in_their_order)
{
	enum { TURN = RW_BOX_RING_MIN, OLDEST = 700, NEXT = TURN + 5 };
	struct feed *feed = start();

	while (writer.header->head < 4 * TURN) {
		uint64_t ticket = fixture_operation(&writer, 0, MS);

		if (ticket - 1 != OLDEST && ticket - 1 != NEXT)
			fixture_finish(&writer, ticket);
	}
	cr_assert_eq(feed_poll(feed, 10 * MS), TURN);
	cr_expect_eq(told(RECORDED_OPERATION, 0)->operation.ticket, OLDEST + 1);
	cr_expect_eq(told(RECORDED_OPERATION, 1)->operation.ticket, NEXT + 1);
	for (size_t i = 2; i < TURN; i++)
		cr_expect_gt(told(RECORDED_OPERATION, i)->operation.ticket, told(RECORDED_OPERATION, i - 1)->operation.ticket);
	feed_free(feed);
}

Test(limits, nobody_waits_for_a_claim_of_the_dead)
{
	uint64_t claim;

	fixture_create(&writer);
	writer.header->boot_id[0] ^= 1;
	box_claim(&writer, RW_OWNER_HOST, &claim);
	fixture_operation(&writer, 1, 2 * MS);
	struct feed *feed = start();

	cr_expect_eq(feed_poll(feed, 10 * MS), 1);
	cr_expect_eq(told(RECORDED_OPERATION, 0)->operation.sequence, 1);
	feed_free(feed);
}

/* RETURN may come after the last owner has left: the operation is read again for a second. */
Test(limits, what_comes_within_a_second_behind_the_last_owner_is_still_seen)
{
	struct feed *feed = start();
	uint64_t soon = fixture_operation(&writer, 0, MS), late = fixture_operation(&writer, 1, 2 * MS);
	struct rw_operation *first = box_slot(&writer, soon), *second = box_slot(&writer, late);

	box_release(first, soon, RW_OWNER_PENDING);
	box_release(second, late, RW_OWNER_PENDING);
	cr_assert_eq(feed_poll(feed, 10 * MS), 2);
	first->return_ns = 5 * MS;
	box_known(first, RW_KNOWN_RETURN);
	cr_expect_eq(feed_poll(feed, 10 * MS + S), 1);
	cr_expect_eq(feed_poll(feed, 10 * MS + S + 1), 0, "and given up with this look");
	second->return_ns = 5 * MS;
	box_known(second, RW_KNOWN_RETURN);
	cr_expect_eq(feed_poll(feed, 10 * MS + S + 2), 0);
	feed_free(feed);
}

Test(limits, an_operation_without_an_owner_is_read_for_the_last_time_behind_the_second)
{
	struct feed *feed = start();
	uint64_t ticket = fixture_operation(&writer, 0, MS);
	struct rw_operation *slot = box_slot(&writer, ticket);

	box_release(slot, ticket, RW_OWNER_PENDING);
	cr_assert_eq(feed_poll(feed, 10 * MS), 1);
	cr_expect_eq(feed_poll(feed, 10 * MS + S), 0);
	slot->return_ns = 5 * MS;
	box_known(slot, RW_KNOWN_RETURN);
	cr_expect_eq(feed_poll(feed, 10 * MS + S + 1), 1);
	feed_free(feed);
}

/* In a job that has times of kernels, those of this one may come up to a tenth of a second later than its end. */
static int passed_when_read_at(uint64_t behind_ns)
{
	struct feed *feed = start();
	uint64_t first = fixture_operation(&writer, 0, MS), second = fixture_operation(&writer, 1, 2 * MS);
	struct rw_operation *slot = box_slot(&writer, second);

	box_known(box_slot(&writer, first), RW_KNOWN_STAMP);
	fixture_finish(&writer, first);
	fixture_finish(&writer, second);
	cr_assert_eq(feed_poll(feed, slot->done_seen_ns + behind_ns), 2);
	box_known(slot, RW_KNOWN_STAMP);
	int passed = feed_poll(feed, slot->done_seen_ns + behind_ns + 1);
	feed_free(feed);
	finish();
	writer = (struct box_writer){ 0 };
	return passed;
}

Test(limits, the_times_of_a_kernel_are_waited_for_a_tenth_of_a_second)
{
	cr_expect_eq(passed_when_read_at(100 * MS - 1), 1);
	cr_expect_eq(passed_when_read_at(100 * MS), 0);
}

/* What is not known is not read, whatever its bytes are. */
Test(limits, an_operation_without_a_time_is_not_damaged)
{
	struct feed *feed = start();
	uint64_t ticket;
	struct rw_operation *slot = box_claim(&writer, RW_OWNER_HOST, &ticket);

	slot->api_ns = UINT64_MAX;
	box_known(slot, RW_KNOWN_IDENT);
	box_publish(slot, ticket);
	cr_expect_eq(feed_poll(feed, 10 * MS), 1);
	cr_expect_eq(feed_rejected(feed), 0);
	feed_free(feed);
}

Test(limits, an_operation_that_has_returned_or_is_captured_is_final_with_its_last_owner)
{
	struct feed *feed = start();
	uint64_t returned = fixture_operation(&writer, 0, MS), captured = fixture_operation(&writer, 1, 2 * MS);
	struct rw_operation *first = box_slot(&writer, returned), *second = box_slot(&writer, captured);

	first->return_ns = 2 * MS;
	box_known(first, RW_KNOWN_RETURN);
	atomic_fetch_or(&second->flags, RW_FLAG_CAPTURED);
	cr_assert_eq(feed_poll(feed, 10 * MS), 2);
	box_release(first, returned, RW_OWNER_PENDING);
	box_release(second, captured, RW_OWNER_PENDING);
	cr_assert_eq(feed_poll(feed, 20 * MS), 2);
	atomic_fetch_or(&first->flags, RW_FLAG_UNTRACKED);
	atomic_fetch_or(&second->flags, RW_FLAG_UNTRACKED);
	cr_expect_eq(feed_poll(feed, 30 * MS), 0, "nobody looks at them any more");
	feed_free(feed);
}

Test(limits, a_change_of_owner_or_flags_alone_is_passed_on)
{
	struct feed *feed = start();
	uint64_t ticket = fixture_operation(&writer, 0, MS);
	struct rw_operation *slot = box_slot(&writer, ticket);

	cr_assert_eq(feed_poll(feed, 10 * MS), 1);
	atomic_fetch_or(&slot->flags, RW_FLAG_UNTRACKED);
	cr_expect_eq(feed_poll(feed, 20 * MS), 1);
	box_release(slot, ticket, RW_OWNER_HOST);
	cr_expect_eq(feed_poll(feed, 30 * MS), 1);
	box_known(slot, RW_KNOWN_TASK);
	cr_expect_eq(feed_poll(feed, 40 * MS), 1);
	cr_expect_eq(feed_poll(feed, 50 * MS), 0);
	feed_free(feed);
}

/* In a replay the GPU page of the moment is not in the box: it is as far as operations were seen to be. */
Test(limits, in_a_replay_progress_is_that_of_the_operations_seen_so_far)
{
	fixture_create(&writer);
	writer.header->created_ns = S;
	writer.header->boot_id[0] ^= 1;
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t ticket = fixture_operation(&writer, i, (2 + 4 * i) * S);
		struct rw_operation *slot = box_slot(&writer, ticket);

		fixture_finish(&writer, ticket);
		slot->progress = 10 + i;
		slot->started_seen_ns = (3 + 4 * i) * S;
		slot->done_seen_ns = (4 + 4 * i) * S;
	}
	struct feed *feed = start();

	writer.communicators[0].created_ns = S;
	feed_replay(&feed, 1, &analysis, NULL, NULL);
	uint64_t started = 0, done = 0;
	static const struct {
		uint64_t started, done;
	} expected[] = { { 0, 0 }, { 10, 0 }, { 10, 10 }, { 11, 10 }, { 11, 11 } };
	size_t at = 0;

	for (size_t i = 0; i < recording_count(&analysis, RECORDED_PROGRESS) - 1; i++) {
		const struct recorded *record = told(RECORDED_PROGRESS, i);

		while (at < 5 && (record->started != expected[at].started || record->done != expected[at].done))
			at++;
		cr_assert_lt(at, 5, "%lu started and %lu done do not come in order", record->started, record->done);
		cr_expect(record->started >= started && record->done >= done);
		started = record->started;
		done = record->done;
	}
	cr_expect_eq(at, 4);
	feed_free(feed);
}

static void sample(uint32_t tid, uint64_t at_ns)
{
	box_writer_sample(&writer, &(struct rw_host_sample){
		.monotonic_ns = at_ns, .tid = tid, .kind = RW_SAMPLE_STATE, .state = 'D', .fd = -1 });
}

Test(limits, samples_are_passed_once_each_in_their_order)
{
	struct feed *feed = start();

	for (uint32_t i = 0; i < 130; i++)
		sample(i, MS);
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	sample(130, 2 * MS);
	cr_assert_eq(feed_poll(feed, 20 * MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_WAIT), 131);
	for (uint32_t i = 0; i <= 130; i++)
		cr_expect_eq(told(RECORDED_WAIT, i)->wait.tid, i);
	feed_free(feed);
}

Test(limits, samples_of_a_ring_that_is_more_than_half_full_are_passed_once)
{
	struct feed *feed = start();

	for (uint32_t i = 0; i < RW_BOX_SAMPLES * 3 / 4; i++)
		sample(i, MS);
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	sample(9999, 2 * MS);
	cr_assert_eq(feed_poll(feed, 20 * MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_WAIT), RW_BOX_SAMPLES * 3 / 4 + 1);
	cr_expect_eq(told(RECORDED_WAIT, RW_BOX_SAMPLES * 3 / 4)->wait.tid, 9999);
	feed_free(feed);
}

Test(limits, samples_that_were_overwritten_are_passed_over)
{
	struct feed *feed = start();

	cr_assert_eq(feed_poll(feed, MS), 0);
	for (uint32_t i = 0; i < RW_BOX_SAMPLES + 10; i++)
		sample(i, MS);
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_WAIT), RW_BOX_SAMPLES);
	cr_expect_eq(told(RECORDED_WAIT, 0)->wait.tid, 10);
	feed_free(feed);
}

Test(limits, a_sample_that_is_being_written_is_waited_for_unless_its_writer_is_dead)
{
	fixture_create(&writer);
	sample(1, MS);
	sample(2, MS);
	sample(3, MS);
	writer.samples[1].ticket = 0;
	struct feed *feed = start();

	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_WAIT), 1);
	writer.samples[1].ticket = 2;
	cr_assert_eq(feed_poll(feed, 20 * MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_WAIT), 3);
	cr_expect_eq(told(RECORDED_WAIT, 1)->wait.tid, 2);
	feed_free(feed);
	recording_free(&analysis);

	writer.samples[1].ticket = 0;
	writer.header->boot_id[0] ^= 1;
	feed = start();
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_WAIT), 2);
	cr_expect_eq(told(RECORDED_WAIT, 1)->wait.tid, 3);
	feed_free(feed);
}

Test(limits, a_sample_of_an_impossible_time_is_left_out)
{
	struct feed *feed = start();

	sample(1, (uint64_t)INT64_MAX + 1);
	sample(2, INT64_MAX);
	sample(3, MS);
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_WAIT), 2);
	cr_expect_eq(told(RECORDED_WAIT, 0)->wait.tid, 2);
	feed_free(feed);
}

Test(limits, in_a_replay_a_sample_comes_at_its_time)
{
	fixture_create(&writer);
	writer.header->created_ns = S;
	writer.header->boot_id[0] ^= 1;
	sample(1, 2 * S);
	sample(2, 4 * S);
	sample(3, UINT64_MAX);
	struct feed *feed = start();

	writer.communicators[0].created_ns = S;
	feed_replay(&feed, 1, &analysis, NULL, NULL);
	cr_assert_eq(recording_count(&analysis, RECORDED_WAIT), 2);
	for (size_t i = 0; i < 2; i++) {
		const struct recorded *record = told(RECORDED_WAIT, i);

		while (record->kind != RECORDED_TICK)
			record++;
		cr_expect(record->at_ns >= 2 * (i + 1) * S && record->at_ns < 2 * (i + 1) * S + 100 * MS, "%lu", record->at_ns);
	}
	cr_expect_eq(feed_last_ns(feed), 4 * S);
	feed_free(feed);
}

static void wait_of(uint32_t entry, uint64_t key, uint64_t first_ns, uint64_t last_ns)
{
	writer.waits[entry].key = key;
	writer.waits[entry].first_ns = first_ns;
	writer.waits[entry].last_ns = last_ns;
	writer.waits[entry].network_ns = 40 * MS;
}

Test(limits, network_waits_of_every_entry_are_passed)
{
	struct feed *feed = start();

	writer.header->leased_until_ns = 9 * S;
	for (uint32_t i = 0; i < RW_BOX_WAITS; i++)
		wait_of(i, RW_WAIT_USED | i, 100 * MS, 200 * MS);
	cr_assert_eq(feed_poll(feed, 210 * MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_NETWORK), RW_BOX_WAITS);
	for (uint32_t i = 0; i < RW_BOX_WAITS; i++) {
		cr_expect_eq(told(RECORDED_NETWORK, i)->network.peer, (int32_t)i);
		cr_expect_not(told(RECORDED_NETWORK, i)->network.sends);
	}
	feed_free(feed);
}

Test(limits, network_waits_are_read_until_a_second_behind_the_lease)
{
	struct feed *feed = start();
	uint64_t key = RW_WAIT_USED | 5;

	wait_of(0, key, 100 * MS, 200 * MS);
	cr_assert_eq(feed_poll(feed, 210 * MS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_NETWORK), 0, "nothing was leased");
	writer.header->leased_until_ns = 300 * MS;
	cr_assert_eq(feed_poll(feed, 300 * MS + S), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_NETWORK), 1);
	wait_of(0, key, 100 * MS, 250 * MS);
	cr_assert_eq(feed_poll(feed, 310 * MS + S), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_NETWORK), 2, "the look before was within it");
	wait_of(0, key, 100 * MS, 260 * MS);
	cr_assert_eq(feed_poll(feed, 320 * MS + S), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_NETWORK), 2);
	feed_free(feed);
}

/* An entry that was given back begins anew, by whatever that shows. */
Test(limits, a_network_wait_that_shrank_or_began_again_is_another)
{
	struct feed *feed = start();
	uint64_t key = RW_WAIT_USED | 5;

	writer.header->leased_until_ns = 9 * S;
	wait_of(0, key, 100 * MS, 200 * MS);
	writer.waits[0].gpu_ns = writer.waits[0].peer_ns = 40 * MS;
	cr_assert_eq(feed_poll(feed, 210 * MS), 0);
	wait_of(0, key, 100 * MS, 210 * MS); /* the same, later: nothing of it has grown */
	cr_assert_eq(feed_poll(feed, 220 * MS), 0);
	cr_expect_eq(told(RECORDED_NETWORK, 1)->network.network_ns, 0);
	writer.waits[0].gpu_ns = 30 * MS;
	writer.waits[0].last_ns = 230 * MS;
	cr_assert_eq(feed_poll(feed, 240 * MS), 0);
	cr_expect_eq(told(RECORDED_NETWORK, 2)->network.gpu_ns, 30 * MS, "less on the GPU than before");
	cr_expect_eq(told(RECORDED_NETWORK, 2)->network.network_ns, 40 * MS);
	writer.waits[0].peer_ns = 10 * MS;
	writer.waits[0].last_ns = 250 * MS;
	cr_assert_eq(feed_poll(feed, 260 * MS), 0);
	cr_expect_eq(told(RECORDED_NETWORK, 3)->network.peer_ns, 10 * MS);
	writer.waits[0].network_ns = 39 * MS;
	writer.waits[0].last_ns = 270 * MS;
	cr_assert_eq(feed_poll(feed, 280 * MS), 0);
	cr_expect_eq(told(RECORDED_NETWORK, 4)->network.network_ns, 39 * MS);
	wait_of(0, key, 101 * MS, 290 * MS);
	cr_assert_eq(feed_poll(feed, 300 * MS), 0);
	cr_expect_eq(told(RECORDED_NETWORK, 5)->network.network_ns, 40 * MS, "began at another time");
	wait_of(0, RW_WAIT_USED | 6, 101 * MS, 290 * MS);
	cr_assert_eq(feed_poll(feed, 310 * MS), 0);
	cr_expect_eq(told(RECORDED_NETWORK, 6)->network.peer, 6);
	cr_expect_eq(told(RECORDED_NETWORK, 6)->network.network_ns, 40 * MS, "of another peer");
	feed_free(feed);
}

Test(limits, a_network_wait_counts_from_its_communicators_birth_to_now)
{
	struct feed *feed = start();

	writer.header->leased_until_ns = 9 * S;
	writer.communicators[0].created_ns = 50 * MS;
	wait_of(0, RW_WAIT_USED | 1, 10 * MS, 50 * MS);
	wait_of(1, RW_WAIT_USED | 2, 10 * MS, 50 * MS - 1);
	wait_of(2, RW_WAIT_USED | 3, 0, 60 * MS);
	wait_of(3, RW_WAIT_USED | 4, 60 * MS, 60 * MS);
	wait_of(4, RW_WAIT_USED | UINT64_C(1) << 32 | 5, 60 * MS, 60 * MS); /* the second communicator is none */
	wait_of(5, RW_WAIT_USED | UINT64_C(0x7fffffff), 60 * MS, 60 * MS);
	wait_of(6, RW_WAIT_USED | UINT64_C(0x80000000), 60 * MS, 60 * MS);
	cr_assert_eq(feed_poll(feed, 210 * MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_NETWORK), 3);
	cr_expect_eq(told(RECORDED_NETWORK, 0)->network.peer, 1);
	cr_expect_eq(told(RECORDED_NETWORK, 1)->network.peer, 4);
	cr_expect_eq(told(RECORDED_NETWORK, 2)->network.peer, INT32_MAX);
	feed_free(feed);
}

static void expect_held(struct feed *feed, const char *state, const char *call, const char *remedy)
{
	size_t before = recording_count(&analysis, RECORDED_HELD);

	snprintf(writer.header->gpu_progress_state, sizeof(writer.header->gpu_progress_state), "%s", state);
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	cr_expect_str_eq(told(RECORDED_HELD, before)->call, call);
	if (remedy)
		cr_expect_str_eq(told(RECORDED_HELD, before)->remedy, remedy);
	else
		cr_expect_null(told(RECORDED_HELD, before)->remedy);
}

Test(limits, each_driver_call_at_init_has_the_variables_that_leave_it_out)
{
	static const char both[] = "RANKWATCH_GPU_TIME=off RANKWATCH_SCAN=off";
	struct feed *feed = start();

	expect_held(feed, "cuDeviceGetAttribute has not returned", "cuDeviceGetAttribute", both);
	expect_held(feed, "cuMemHostGetDevicePointer has not returned", "cuMemHostGetDevicePointer", both);
	expect_held(feed, "cuMemHostRegister has not returned", "cuMemHostRegister", both);
	expect_held(feed, "cuThreadExchangeStreamCaptureMode has not returned", "cuThreadExchangeStreamCaptureMode", both);
	expect_held(feed, "cuDeviceGetPCIBusId has not returned", "cuDeviceGetPCIBusId", "RANKWATCH=off");
	expect_held(feed, "watermark", "", NULL);
	feed_free(feed);
}

Test(limits, what_is_no_name_before_the_mark_is_no_call)
{
	static const char mark[] = " has not returned";
	struct feed *feed = start();
	char *state = writer.header->gpu_progress_state;

	snprintf(state, sizeof(writer.header->gpu_progress_state), "%s", mark);
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_HELD), 0, "no name at all");
	expect_held(feed, "x has not returned", "x", "RANKWATCH=off");
	char longest[64] = "";

	memset(longest, 'c', sizeof(longest) - strlen(mark) - 1);
	strcat(longest, mark);
	cr_expect_eq(strlen(longest), sizeof(writer.header->gpu_progress_state) - 1, "the whole field");
	longest[sizeof(longest) - strlen(mark) - 1] = '\0';
	char said[64];

	snprintf(said, sizeof(said), "%s", longest);
	longest[strlen(said)] = *mark;
	expect_held(feed, longest, said, "RANKWATCH=off");
	feed_free(feed);
}
