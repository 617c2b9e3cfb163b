/* SPDX-License-Identifier: MIT */
/* Replays of captured calls: which the plugin records from NCCL's kernel events, and which it must not believe. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "plugin/operations/replay.h"
#include "tests/abi/player.h"

enum { CHANNELS = 4 /* that the player's collectives announce */ };

#define EPOCH UINT64_C(1767225600000000000) /* %globaltimer counts from about 1970 */

static struct player player;
static struct box_reader reader;

static void begin(int abi, const char *kernel_events)
{
	const char *directory = player_directory();

	setenv("RANKWATCH_KERNELCH", kernel_events, 1);
	player_init(&player, player_load(), abi, 0x5eed, 1, 4);
	player_read(&reader, directory);
}

static uint64_t head(void)
{
	cr_assert_eq(box_reader_refresh(&reader), 0);
	return reader.header.head;
}

static struct rw_operation operation(uint64_t number)
{
	struct rw_operation found;

	cr_assert(player_operation(&reader, number, &found), "operation %lu is not in the box", (unsigned long)number);
	return found;
}

/* As NCCL does at the capture of one call: no task. */
static void *capture(const char *function)
{
	void *group = player_api_group(&player);
	void *call = player_call(&player, group, function, 8, "ncclFloat32", true);

	player_stop(&player, call);
	player_stop(&player, player_launch(&player, (void *)0x2000));
	player_stop(&player, group);
	return call;
}

/* The callback of a replay. The handle of its task. */
static void *announce(void *call, const char *function)
{
	void *plan = player_plan(&player), *task = player_task(&player, call, function, 8);

	player_stop(&player, task);
	player_stop(&player, plan);
	return task;
}

static uint64_t timed(void)
{
	struct rw_communicator entries[1];

	cr_assert_gt(box_reader_communicators(&reader, 0, 1, entries), 0);
	return entries[0].replays_timed;
}

static void run_kernel(void *task, uint64_t start, uint64_t end)
{
	void *handles[CHANNELS];

	for (uint8_t channel = 0; channel < CHANNELS; channel++)
		handles[channel] = player_channel(&player, task, channel, start + channel);
	for (int channel = 0; channel < CHANNELS; channel++)
		player_channel_stop(&player, handles[channel], end - (uint64_t)channel);
}

static void replay(void *call, const char *function, uint64_t start, uint64_t end)
{
	run_kernel(announce(call, function), start, end);
}

static void expect_replay(uint64_t number, uint64_t call, uint64_t of_call, uint64_t start, uint64_t end)
{
	const uint32_t known =
	    RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_TASK | RW_KNOWN_STARTED | RW_KNOWN_DONE | RW_KNOWN_STAMP;
	struct rw_operation op = operation(number);

	cr_expect_eq(op.known, known);
	cr_expect_eq(op.flags, RW_FLAG_CAPTURED);
	cr_expect_eq(op.owner, 0, "nothing more is to come");
	cr_expect_eq(op.sequence, rw_captured_sequence(call, of_call));
	cr_expect_eq(op.gpu_start_raw, start);
	cr_expect_eq(op.gpu_end_raw, end);
	cr_expect_eq(op.gpu_source, RW_GPU_SOURCE_KERNEL_CH);
	cr_expect_leq(op.started_seen_ns, op.done_seen_ns);
	cr_expect_eq(op.api_ns, op.done_seen_ns);
	cr_expect_eq(op.launch_end_ns, 0, "when its host launched the graph, NCCL does not say");
}

Test(replay, its_kernel_has_times_and_says_which_call_and_which_replay_it_is)
{
	begin(5, "1");
	void *first = capture("AllReduce"), *gather = capture("AllGather"), *second = capture("AllReduce");
	replay(first, "AllReduce", EPOCH, EPOCH + 900);
	replay(gather, "AllGather", EPOCH + 1000, EPOCH + 1100);
	replay(second, "AllReduce", EPOCH + 2000, EPOCH + 2100);
	replay(first, "AllReduce", EPOCH + 3000, EPOCH + 3300);
	cr_assert_eq(head(), 4, "one slot for each replay, none for a captured call");
	expect_replay(0, 0, 0, EPOCH, EPOCH + 900);
	expect_replay(1, 0, 0, EPOCH + 1000, EPOCH + 1100);
	expect_replay(2, 1, 0, EPOCH + 2000, EPOCH + 2100);
	expect_replay(3, 0, 1, EPOCH + 3000, EPOCH + 3300);
	cr_expect_eq(operation(1).function, RW_FUNCTION_ALL_GATHER);
	struct rw_operation op = operation(3);
	cr_expect_eq(op.function, RW_FUNCTION_ALL_REDUCE);
	cr_expect_eq(op.dtype, RW_DTYPE_FLOAT32);
	cr_expect_eq(op.count, 8);
	cr_expect_eq(op.nccl_sequence, 3);
	cr_expect_eq(op.channels, CHANNELS);
}

Test(replay, those_under_way_at_once_are_told_apart)
{
	void *channels[3];

	begin(5, "1");
	void *call = capture("AllReduce");
	void *tasks[3] = { announce(call, "AllReduce"), announce(call, "AllReduce"), announce(call, "AllReduce") };
	for (int i = 2; i >= 0; i--)
		channels[i] = player_channel(&player, tasks[i], 0, EPOCH + 100 * (uint64_t)i);
	run_kernel(tasks[1], EPOCH + 100, EPOCH + 150); /* its channel 0 is started already, and does not stop */
	cr_expect_eq(head(), 0);
	player_channel_stop(&player, channels[1], EPOCH + 160);
	cr_assert_eq(head(), 1);
	expect_replay(0, 0, 1, EPOCH + 100, EPOCH + 160);
}

Test(replay, one_that_does_not_end_takes_no_slot)
{
	begin(5, "1");
	void *call = capture("AllReduce");
	for (int i = 0; i < 2 * REPLAY_RUNNING; i++)
		cr_assert(player_channel(&player, announce(call, "AllReduce"), 0, EPOCH));
	cr_expect_eq(head(), 0);
	replay(call, "AllReduce", EPOCH, EPOCH + 10);
	cr_expect_eq(head(), 1);
}

/* NCCL hands stopped handles in again. */
Test(replay, stale_handles_and_those_of_others_do_nothing)
{
	struct player other;
	void *stale[CHANNELS];

	begin(5, "1");
	void *call = capture("AllReduce");
	void *task = announce(call, "AllReduce");
	for (uint8_t channel = 0; channel < CHANNELS; channel++)
		stale[channel] = player_channel(&player, task, channel, EPOCH);
	for (int channel = 0; channel < CHANNELS; channel++)
		player_channel_stop(&player, stale[channel], EPOCH + 50);
	cr_assert_eq(head(), 1);
	for (int channel = 0; channel < CHANNELS; channel++)
		player_channel_stop(&player, stale[channel], EPOCH + 9000);
	cr_expect_null(player_channel(&player, task, 0, EPOCH), "it has ended");
	for (int i = 0; i < REPLAY_RUNNING; i++)
		announce(call, "AllReduce");
	cr_expect_null(player_channel(&player, task, 0, EPOCH), "its place is another's");
	for (int channel = 0; channel < CHANNELS; channel++)
		player_channel_stop(&player, stale[channel], EPOCH + 9000);
	cr_expect_eq(head(), 1);
	task = announce(call, "AllReduce");
	cr_expect_null(player_channel(&player, task, 64, EPOCH), "there are 64 channels");
	player_init(&other, player_load(), 5, 0xbee, 0, 2);
	cr_expect_null(player_channel(&other, task, 0, EPOCH));
	cr_expect_null(player_task(&other, call, "AllReduce", 8), "the call is of another communicator");
	player_finalize(&player);
	cr_expect_null(player_channel(&player, task, 0, EPOCH), "the communicator has ended");
	expect_replay(0, 0, 0, EPOCH, EPOCH + 50);
}

Test(replay, a_call_that_too_many_newer_ones_follow_is_forgotten)
{
	begin(7, "1");
	void *first = capture("AllReduce"), *last = NULL;
	for (int i = 0; i < REPLAY_CALLS; i++)
		last = capture("AllReduce");
	cr_expect_eq(timed(), REPLAY_CALLS, "of one more");
	cr_expect_null(announce(first, "AllReduce"));
	replay(last, "AllReduce", EPOCH, EPOCH + 50);
	cr_assert_eq(head(), 1);
	expect_replay(0, REPLAY_CALLS, 0, EPOCH, EPOCH + 50);
}

Test(replay, a_hundred_thousand_leave_the_ring_with_its_newest)
{
	begin(5, "1");
	void *call = capture("AllReduce");
	for (uint64_t i = 0; i < 100000; i++)
		replay(call, "AllReduce", EPOCH + 1000 * i, EPOCH + 1000 * i + 500);
	cr_assert_eq(head(), 100000);
	cr_expect_eq(reader.header.dropped, 0);
	expect_replay(99999, 0, 99999, EPOCH + 99999000, EPOCH + 99999500);
}

Test(replay, times_that_cannot_be_are_not_recorded)
{
	begin(5, "1");
	void *call = capture("AllReduce");
	replay(call, "AllReduce", 0, EPOCH);
	replay(call, "AllReduce", EPOCH + 1000, EPOCH);
	cr_assert_eq(head(), 2);
	for (uint64_t i = 0; i < 2; i++) {
		struct rw_operation op = operation(i);
		cr_expect_eq(op.known, RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_TASK, "that it ran is known");
	}
	replay(call, "AllReduce", EPOCH, EPOCH + 1000);
	expect_replay(2, 0, 2, EPOCH, EPOCH + 1000);
}

Test(replay, sends_and_receives_are_not_recorded)
{
	begin(5, "1");
	void *group = player_api_group(&player);
	void *call = player_captured_p2p_call(&player, group, "Send", 8);
	player_stop(&player, call);
	player_stop(&player, group);
	cr_expect_null(player_p2p_task(&player, call, "Send", 8, 0));
	cr_expect_eq(timed(), 0);
}

Test(replay, without_kernel_events_there_are_none)
{
	begin(5, "0");
	cr_expect_null(announce(capture("AllReduce"), "AllReduce"));
	cr_expect_eq(head(), 0);
	cr_expect_eq(timed(), 0);
}

static bool has_times(uint64_t number)
{
	struct rw_operation op = operation(number);

	return op.known & RW_KNOWN_STAMP;
}

static void eager(uint64_t start, uint64_t end)
{
	run_kernel(player_collective(&player, "AllReduce", 8, "ncclFloat32"), start, end);
}

/* NCCL 2.28 to 2.30: SaveProxyProfiler() counts a replay only while the communicator's latest call was captured. */
Test(replay, before_2_31_a_call_after_the_capture_ends_it_for_the_communicator)
{
	begin(6, "1");
	eager(EPOCH, EPOCH + 10);
	void *call = capture("AllReduce");
	replay(call, "AllReduce", EPOCH + 20, EPOCH + 30);
	eager(EPOCH + 40, EPOCH + 50);
	cr_assert_eq(head(), 3);
	cr_expect(has_times(0) && has_times(2));
	cr_expect_eq(timed(), 1);
	cr_expect_null(announce(call, "AllReduce"), "NCCL does not count this one");
	cr_expect_eq(timed(), 0, "readers know that replays are not seen");
	eager(EPOCH + 60, EPOCH + 70);
	cr_expect_eq(head(), 4);
	cr_expect_not(has_times(3), "NCCL reports the times of the kernel before it");
	call = capture("AllReduce");
	cr_expect_null(announce(call, "AllReduce"), "nothing sets NCCL's count right again");
	cr_expect_eq(timed(), 0);
}

Test(replay, before_2_31_what_is_under_way_when_the_count_goes_wrong_has_no_times)
{
	void *handles[CHANNELS];

	begin(5, "1");
	void *call = capture("AllReduce");
	void *task = announce(call, "AllReduce");
	for (uint8_t channel = 0; channel < CHANNELS; channel++)
		handles[channel] = player_channel(&player, task, channel, EPOCH);
	void *other = player_collective(&player, "AllReduce", 8, "ncclFloat32");
	announce(call, "AllReduce");
	for (int channel = 0; channel < CHANNELS; channel++)
		player_channel_stop(&player, handles[channel], EPOCH + 10);
	run_kernel(other, EPOCH + 20, EPOCH + 30);
	cr_expect_eq(head(), 1);
	cr_expect_not(has_times(0));
}

Test(replay, before_2_31_a_capture_beside_replays_ends_it)
{
	begin(5, "1");
	void *call = capture("AllReduce");
	replay(call, "AllReduce", EPOCH, EPOCH + 10);
	void *second = capture("AllReduce");
	cr_expect_null(announce(call, "AllReduce"));
	cr_expect_null(announce(second, "AllReduce"));
}

Test(replay, another_communicator_is_not_concerned)
{
	struct player other;

	begin(5, "1");
	void *call = capture("AllReduce");
	player_init(&other, player_load(), 5, 0xbee, 1, 4);
	player_collective(&other, "AllReduce", 8, "ncclFloat32");
	replay(call, "AllReduce", EPOCH, EPOCH + 10);
	cr_expect_eq(head(), 2);
	expect_replay(1, 0, 0, EPOCH, EPOCH + 10);
}

Test(replay, from_2_31_on_graphs_and_calls_may_be_mixed)
{
	begin(7, "1");
	void *call = capture("AllReduce");
	eager(EPOCH, EPOCH + 10);
	replay(call, "AllReduce", EPOCH + 20, EPOCH + 30);
	void *second = capture("AllReduce");
	replay(second, "AllReduce", EPOCH + 40, EPOCH + 50);
	replay(call, "AllReduce", EPOCH + 60, EPOCH + 70);
	cr_assert_eq(head(), 4);
	expect_replay(1, 0, 0, EPOCH + 20, EPOCH + 30);
	expect_replay(2, 1, 0, EPOCH + 40, EPOCH + 50);
	expect_replay(3, 0, 1, EPOCH + 60, EPOCH + 70);
}

/* From 2.31 on NCCL's GPU counts Broadcasts, and its host does not. */
Test(replay, where_broadcasts_make_the_count_wrong_there_are_no_times)
{
	begin(7, "1");
	void *call = capture("AllReduce");
	replay(call, "AllReduce", EPOCH, EPOCH + 10);
	player_stop(&player, player_call(&player, NULL, "Broadcast", 8, "ncclFloat32", false));
	cr_expect_null(announce(call, "AllReduce"));
	cr_expect_eq(timed(), 0);
}
