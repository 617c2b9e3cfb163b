/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "feed/feed.h"
#include "tests/unit/blackbox/fixture.h"
#include "tests/unit/feed/recording.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

static struct analysis analysis;

static void finish(void)
{
	recording_free(&analysis);
	fixture_remove();
}

TestSuite(replay, .fini = finish);

static void create(struct box_writer *writer)
{
	fixture_create(writer);
	writer->header->created_ns = S;
	writer->header->boot_id[0] ^= 1; /* of another boot: an orphan */
	writer->communicators[0].created_ns = S;
	writer->header->comms_used = 1;
}

static struct feed *feed_of(const struct box_writer *writer, analysis_process_id id)
{
	struct box_reader reader;

	fixture_open(&reader, writer);
	return feed_new(&analysis, id, &reader);
}

static struct {
	uint64_t passed, all, calls;
	bool went_back;
} shown;

static void note_progress(void *argument, uint64_t passed, uint64_t all)
{
	(void)argument;
	shown.went_back |= passed < shown.passed;
	shown.passed = passed;
	shown.all = all;
	shown.calls++;
}

static void replay(struct feed *first, struct feed *second)
{
	struct feed *feeds[] = { first, second };

	feed_replay(feeds, second ? 2 : 1, &analysis, note_progress, NULL);
	feed_free(first);
	feed_free(second);
}

/* Time of the next tick after record n. */
static uint64_t ticked_at(const struct recorded *record)
{
	while (record->kind != RECORDED_TICK)
		record++;
	return record->at_ns;
}

Test(replay, the_analysis_sees_an_operation_as_far_as_it_was)
{
	struct box_writer writer;

	create(&writer);

	uint64_t ticket = fixture_operation(&writer, 0, 2 * S);
	struct rw_operation *slot = box_slot(&writer, ticket);

	fixture_finish(&writer, ticket);
	slot->started_seen_ns = 3 * S;
	slot->done_seen_ns = 4 * S;
	replay(feed_of(&writer, 1), NULL);
	cr_assert_eq(recording_count(&analysis, RECORDED_OPERATION), 4);

	static const uint32_t known[] = {
		RW_KNOWN_IDENT | RW_KNOWN_API,
		RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN,
		RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_STARTED,
		RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_STARTED | RW_KNOWN_DONE,
	};
	static const uint64_t seen_by[] = { 2 * S, 2 * S + 100 * MS, 3 * S, 4 * S };

	for (size_t i = 0; i < 4; i++) {
		const struct recorded *record = recording_find(&analysis, RECORDED_OPERATION, i);

		cr_expect_eq(record->operation.known, known[i], "%zu: %#x", i, record->operation.known);
		cr_expect_eq(!(record->operation.owner & RW_OWNER_PENDING), i == 3);
		cr_expect_leq(ticked_at(record) - seen_by[i], 100 * MS);
	}
}

/* Whoever reads this can do nothing with a process that has ended, nor by a box of which it is not known whether its
 * process runs, as of a copy. A collector that cannot tell goes on as long as the box does. */
Test(replay, a_process_that_is_not_seen_to_run_is_told_as_past)
{
	struct box_writer writer;

	create(&writer);
	replay(feed_of(&writer, 1), NULL);
	cr_expect(recording_find(&analysis, RECORDED_PROCESS, 0)->process_told.past, "an orphan");
	writer.header->boot_id[0] ^= 1; /* this one: a process does not see its own lock */
	replay(feed_of(&writer, 2), NULL);
	cr_expect(recording_find(&analysis, RECORDED_PROCESS, 1)->process_told.past, "it is not known whether it runs");

	struct feed *live = feed_of(&writer, 3);

	cr_assert_eq(feed_poll(live, 2 * S), 0);
	cr_expect_not(recording_find(&analysis, RECORDED_PROCESS, 2)->process_told.past, "nor here, but it goes on");
	feed_free(live);
}

/* With the operations of its step, not with those before it, though it needs nothing more to be whole. */
Test(replay, a_step_mark_is_passed_when_the_step_begins)
{
	struct box_writer writer;
	uint64_t ticket;

	create(&writer);
	fixture_finish(&writer, fixture_operation(&writer, 0, 2 * S));
	struct rw_operation *slot = box_claim(&writer, RW_OWNER_HOST, &ticket);
	slot->count = 41;
	slot->api_ns = 5 * S;
	slot->known = RW_KNOWN_STEP;
	box_publish(slot, ticket);
	box_release(slot, ticket, RW_OWNER_HOST);
	replay(feed_of(&writer, 1), NULL);

	const struct recorded *last =
	    recording_find(&analysis, RECORDED_OPERATION, recording_count(&analysis, RECORDED_OPERATION) - 1);
	cr_expect_eq(last->operation.known, RW_KNOWN_STEP);
	cr_expect_eq(last->operation.count, 41);
	cr_expect_eq(last->operation.owner & RW_OWNER_PENDING, 0);
	cr_expect_leq(ticked_at(last) - 5 * S, 100 * MS);
	for (size_t i = 0; i + 1 < recording_count(&analysis, RECORDED_OPERATION); i++)
		cr_expect_neq(recording_find(&analysis, RECORDED_OPERATION, i)->operation.ticket, ticket, "once, and whole");
}

/* The page in the file is of the end: at each moment progress is what operations had reached by then. */
Test(replay, progress_rises_when_an_operation_starts_and_when_it_is_done)
{
	struct box_writer writer;

	create(&writer);
	uint64_t ticket = fixture_operation(&writer, 0, 2 * S);
	struct rw_operation *slot = box_slot(&writer, ticket);

	fixture_finish(&writer, ticket);
	slot->progress = 10;
	slot->started_seen_ns = 4 * S;
	slot->done_seen_ns = 6 * S;
	fixture_operation(&writer, 1, 8 * S);
	replay(feed_of(&writer, 1), NULL);
	size_t seen[3] = { 0 };

	for (size_t i = 0; i < recording_count(&analysis, RECORDED_PROGRESS); i++) {
		const struct recorded *record = recording_find(&analysis, RECORDED_PROGRESS, i);

		if (record->at_ns >= 8 * S) /* the page itself */
			continue;
		cr_expect_eq(record->started, record->at_ns >= 4 * S ? 10 : 0, "at %lu", record->at_ns);
		cr_expect_eq(record->done, record->at_ns >= 6 * S ? 10 : 0, "at %lu", record->at_ns);
		seen[record->at_ns < 4 * S ? 0 : record->at_ns < 6 * S ? 1 : 2]++;
	}
	cr_expect(seen[0] && seen[1] && seen[2]);
}

Test(replay, the_next_moment_is_the_earliest_of_all_that_is_still_to_come)
{
	struct box_writer writer;

	create(&writer);
	fixture_operation(&writer, 0, 20 * S);
	box_writer_sample(&writer,
			  &(struct rw_host_sample){
			      .monotonic_ns = 40 * S, .tid = 1, .kind = RW_SAMPLE_STATE, .state = 'D', .fd = -1 });
	replay(feed_of(&writer, 1), NULL);
	cr_assert_eq(recording_count(&analysis, RECORDED_OPERATION), 1);
	cr_expect_eq(ticked_at(recording_find(&analysis, RECORDED_OPERATION, 0)), 20 * S);
	cr_assert_eq(recording_count(&analysis, RECORDED_WAIT), 1);
	cr_expect_eq(ticked_at(recording_find(&analysis, RECORDED_WAIT, 0)), 40 * S);
}

Test(replay, a_time_that_is_not_known_is_not_waited_for)
{
	struct box_writer writer;

	create(&writer);
	uint64_t ticket = fixture_operation(&writer, 0, 2 * S);

	box_slot(&writer, ticket)->done_seen_ns = 9 * S;
	replay(feed_of(&writer, 1), NULL);
	cr_expect_lt(recording_find(&analysis, RECORDED_TICK, recording_count(&analysis, RECORDED_TICK) - 1)->at_ns, 9 * S);
}

Test(replay, boxes_are_merged_by_time)
{
	struct box_writer first, second;

	create(&first);
	for (uint64_t i = 0; i < 10; i++)
		fixture_operation(&first, i, 2 * S + i * 400 * MS);

	struct feed *one = feed_of(&first, 1);

	create(&second);
	for (uint64_t i = 0; i < 10; i++)
		fixture_operation(&second, i, 2 * S + i * 400 * MS + 200 * MS);
	replay(one, feed_of(&second, 2));
	cr_assert_eq(recording_count(&analysis, RECORDED_OPERATION), 20);
	for (size_t i = 0; i < 20; i++)
		cr_expect_eq(recording_find(&analysis, RECORDED_OPERATION, i)->process, 1 + i % 2);
	cr_expect_gt(shown.calls, 10);
	cr_expect_not(shown.went_back);
	cr_expect_eq(shown.all, 20);
	cr_expect_eq(shown.passed, 20);
}

Test(replay, a_process_dies_at_its_own_last_moment)
{
	struct box_writer first, second;

	create(&first);
	first.header->drain_ns = 3 * S;

	struct feed *one = feed_of(&first, 1);

	create(&second);
	second.header->drain_ns = 5 * S;
	second.header->end = RW_BOX_EXITED;
	fixture_operation(&second, 0, 4 * S);
	replay(one, feed_of(&second, 2));

	const struct recorded *killed = recording_find(&analysis, RECORDED_LIFE, 0);
	const struct recorded *exited = recording_find(&analysis, RECORDED_LIFE, 1);

	cr_assert_not_null(exited);
	cr_expect_eq(killed->process, 1);
	cr_expect_eq(killed->life, ANALYSIS_KILLED);
	cr_expect_eq(killed->at_ns, 3 * S);
	cr_expect_lt(killed, recording_find(&analysis, RECORDED_OPERATION, 0));
	cr_expect_eq(exited->process, 2);
	cr_expect_eq(exited->life, ANALYSIS_EXITED);
	cr_expect_eq(exited->at_ns, 5 * S);
	cr_expect_null(recording_find(&analysis, RECORDED_LIFE, 2));
}

/* Of a job that ends between two ticks: when the first of the others ends, the analysis has seen how long they waited
 * for the one that was gone before. */
Test(replay, the_analysis_looks_once_more_before_it_hears_of_an_end)
{
	const uint64_t end_ns = 4 * S + 50 * MS;
	struct box_writer gone, first, second;
	struct feed *feeds[3];
	bool looked = false;

	create(&gone);
	gone.header->drain_ns = 3 * S;
	feeds[0] = feed_of(&gone, 1);
	create(&first);
	first.header->drain_ns = end_ns;
	feeds[1] = feed_of(&first, 2);
	create(&second);
	second.header->drain_ns = end_ns + 10 * MS;
	feeds[2] = feed_of(&second, 3);
	feed_replay(feeds, 3, &analysis, NULL, NULL);
	for (int i = 0; i < 3; i++)
		feed_free(feeds[i]);

	const struct recorded *end = recording_find(&analysis, RECORDED_LIFE, 1),
			      *last = recording_find(&analysis, RECORDED_LIFE, 2);

	cr_assert_not_null(last);
	cr_expect_eq(end->at_ns, end_ns);
	cr_expect_eq(last->at_ns, end_ns + 10 * MS);
	for (size_t i = 0; i < recording_count(&analysis, RECORDED_TICK); i++) {
		const struct recorded *tick = recording_find(&analysis, RECORDED_TICK, i);

		looked |= tick < end && tick->at_ns == end_ns;
		cr_expect(i == 0 || tick->at_ns > recording_find(&analysis, RECORDED_TICK, i - 1)->at_ns, "time goes on");
	}
	cr_expect(looked, "one end is 1.05 s after the first, and ticks are 100 ms apart");
}

Test(replay, the_last_words_of_the_gpu_are_passed_at_the_end)
{
	struct box_writer writer;

	create(&writer);
	fixture_operation(&writer, 0, 2 * S);
	writer.gpu[0].gpu_started = 1;
	replay(feed_of(&writer, 1), NULL);

	size_t count = recording_count(&analysis, RECORDED_PROGRESS);

	cr_assert_geq(count, 2);
	cr_expect_eq(recording_find(&analysis, RECORDED_PROGRESS, 0)->started, 0);
	cr_expect_eq(recording_find(&analysis, RECORDED_PROGRESS, count - 1)->started, 1);
}

Test(replay, the_last_words_of_the_gpu_are_passed_behind_all_operations)
{
	enum { OPERATIONS = 5 };
	struct box_writer writer;

	create(&writer);
	for (uint64_t i = 0; i < OPERATIONS; i++)
		fixture_operation(&writer, i, (2 + i) * S);
	writer.gpu[0].gpu_started = OPERATIONS;
	replay(feed_of(&writer, 1), NULL);
	cr_assert_eq(recording_count(&analysis, RECORDED_OPERATION), OPERATIONS);
	for (size_t i = 0; i < recording_count(&analysis, RECORDED_PROGRESS); i++) {
		const struct recorded *progress = recording_find(&analysis, RECORDED_PROGRESS, i);
		cr_expect(progress->started < OPERATIONS || progress > recording_find(&analysis, RECORDED_OPERATION, OPERATIONS - 1));
	}
}

Test(replay, network_waits_are_passed_whole_at_their_last_moment)
{
	struct box_writer writer;

	create(&writer);
	fixture_operation(&writer, 0, 2 * S);
	writer.header->leased_until_ns = 9 * S;
	writer.header->drain_ns = 8 * S;
	writer.waits[5] = (struct rw_wait){
		.key = RW_WAIT_USED | 1, .first_ns = 3 * S, .last_ns = 6 * S, .gpu_ns = S, .network_ns = 2 * S };
	replay(feed_of(&writer, 1), NULL);
	cr_assert_eq(recording_count(&analysis, RECORDED_NETWORK), 1);
	const struct analysis_network *network = &recording_find(&analysis, RECORDED_NETWORK, 0)->network;
	cr_expect_eq(network->network_ns, 2 * S);
	cr_expect_eq(network->gpu_ns, S);
	cr_expect_eq(network->from_ns, 3 * S);
	cr_expect_eq(network->to_ns, 6 * S);
}

Test(replay, a_long_silence_is_ticked_at_its_beginning_and_its_end_only)
{
	struct box_writer writer;
	uint64_t last_ns = 0;
	bool before = false;

	create(&writer);
	fixture_operation(&writer, 0, 2 * S);
	fixture_operation(&writer, 1, 100000 * S);
	replay(feed_of(&writer, 1), NULL);
	cr_expect_lt(recording_count(&analysis, RECORDED_TICK), 250);
	for (size_t i = 0; i < recording_count(&analysis, RECORDED_TICK); i++) {
		uint64_t now_ns = recording_find(&analysis, RECORDED_TICK, i)->at_ns;

		cr_expect_gt(now_ns, last_ns);
		last_ns = now_ns;
		before |= now_ns == 100000 * S - 1;
	}
	cr_expect(before, "the analysis can see how long nothing happened");
	cr_expect_eq(last_ns, 100000 * S + 1, "once before the end is passed, and once after it");
}

Test(replay, an_operation_that_was_never_published_is_not_passed)
{
	struct box_writer writer;
	uint64_t ticket;

	create(&writer);
	box_claim(&writer, RW_OWNER_HOST, &ticket);
	fixture_operation(&writer, 1, 2 * S);
	replay(feed_of(&writer, 1), NULL);
	cr_assert_eq(recording_count(&analysis, RECORDED_OPERATION), 1);
	cr_expect_eq(recording_find(&analysis, RECORDED_OPERATION, 0)->operation.sequence, 1);
}

Test(replay, impossible_times_neither_hang_nor_hide_the_rest)
{
	struct box_writer writer;

	create(&writer);
	fixture_operation(&writer, 0, INT64_MAX);
	fixture_operation(&writer, 1, 2 * S);

	uint64_t ticket = fixture_operation(&writer, 2, 3 * S);

	fixture_finish(&writer, ticket);
	box_slot(&writer, ticket)->done_seen_ns = UINT64_MAX;
	writer.header->drain_ns = UINT64_MAX;
	replay(feed_of(&writer, 1), NULL);
	cr_expect_geq(recording_count(&analysis, RECORDED_OPERATION), 3);
	cr_expect_eq(recording_count(&analysis, RECORDED_LIFE), 1);
}
