/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/scan/scan_nodes.h"
#include "rankwatch/operation.h"

static struct scan_nodes nodes;
static struct scan_launch launch;
static struct scan_node_segment segments[SCAN_SEGMENTS];
static uint64_t lost;

static void setup(void)
{
	static char *pinned;

	pinned = calloc(1, scan_nodes_host_size());
	cr_assert(scan_nodes_open(&nodes, pinned, (uintptr_t)pinned, 1 << 20));
	launch.segment_count = 2;
	lost = 0;
}

/* As the kernel does: result number `number` of all. */
static void write_result(uint64_t number, uint32_t node, uint32_t segment, uint64_t replay)
{
	struct scan_replay *at = &nodes.ring[number % SCAN_REPLAYS];

	*at = (struct scan_replay){ .replay = replay, .node = node, .segment = segment };
	__atomic_store_n(&at->result.sequence, number + 1, __ATOMIC_RELEASE);
}

static bool read_result(struct scan_replay *replay, struct scan_node_segment *segment)
{
	return scan_nodes_read(&nodes, replay, segment, &lost);
}

/* Nodes and their scratch, one behind the other. */
Test(scan_nodes, lie_in_the_memory_of_the_device, .init = setup)
{
	uint64_t device = 1 << 20, first = (uintptr_t)nodes.replays.node, end = device + scan_nodes_device_size();

	cr_expect(first > device && first % 64 == 0, "behind the counter of what was written");
	cr_expect_geq(nodes.scratch, first + SCAN_NODES * sizeof(struct scan_node));
	cr_expect_lt(nodes.scratch, end);
	cr_expect_eq((uintptr_t)nodes.replays.written, device);
}

Test(scan_nodes, results_are_read_in_the_order_in_which_they_took_their_places, .init = setup)
{
	struct scan_replay replay;
	struct scan_node_segment segment;

	segments[1].elements = 5;
	cr_assert(scan_nodes_add(&nodes, &launch, segments));
	cr_assert_not(read_result(&replay, &segment));
	write_result(1, 0, 1, 9);
	cr_assert_not(read_result(&replay, &segment), "the one before it is still being written");
	write_result(0, 0, 0, 9);
	cr_assert(read_result(&replay, &segment) && replay.segment == 0);
	cr_assert(read_result(&replay, &segment) && replay.segment == 1 && segment.elements == 5 && replay.replay == 9);
	cr_assert_not(read_result(&replay, &segment));
	cr_assert_eq(lost, 0);
}

Test(scan_nodes, who_reads_too_late_counts_what_was_overwritten_and_goes_on, .init = setup)
{
	const uint64_t all = 3 * SCAN_REPLAYS + 5;
	struct scan_replay replay;
	struct scan_node_segment segment;
	uint64_t read = 0;

	cr_assert(scan_nodes_add(&nodes, &launch, segments));
	for (uint64_t i = 0; i < all; i++)
		write_result(i, 0, 0, i);
	for (; read_result(&replay, &segment); read++)
		cr_assert_eq(replay.replay, lost + read);
	cr_assert(read >= SCAN_REPLAYS / 2);
	cr_assert_eq(lost + read, all);
}

Test(scan_nodes, a_result_of_no_node_is_passed_over, .init = setup)
{
	struct scan_replay replay;
	struct scan_node_segment segment;

	cr_assert(scan_nodes_add(&nodes, &launch, segments));
	write_result(0, 1, 0, 0);
	write_result(1, 0, 0, 0);
	cr_assert(read_result(&replay, &segment) && replay.node == 0);
}

Test(scan_nodes, nodes_have_scratch_of_their_own_within_the_memory_and_a_full_table_takes_no_more, .init = setup)
{
	uint64_t end = 1 << 20, last;
	uint32_t taken = 0;

	for (; scan_nodes_add(&nodes, &launch, segments); taken++) {
		last = (uintptr_t)launch.scratch;
		cr_assert(last >= end || taken == 0);
		cr_assert_eq(last % 8, 0);
		end = (uintptr_t)&launch.scratch->partials[launch.segment_count];
		cr_assert_eq(launch.replays.number, taken);
	}
	cr_assert_eq(taken, SCAN_NODES);
	cr_assert(end <= (1 << 20) + scan_nodes_device_size());
	cr_assert_eq(scan_nodes_call(&nodes, &(struct scan_captured){ 0 }), 0);
	atomic_store(&nodes.call_count, SCAN_CAPTURED);
	cr_assert_eq(scan_nodes_call(&nodes, &(struct scan_captured){ 0 }), -1);
}

Test(scan_nodes, calls_that_are_captured_are_numbered_one_after_the_other, .init = setup)
{
	for (int i = 0; i < 3; i++)
		cr_assert_eq(scan_nodes_call(&nodes, &(struct scan_captured){ 0 }), i);
}

Test(scan_nodes, a_result_is_one_when_its_node_and_its_segment_of_that_are, .init = setup)
{
	static const struct {
		uint32_t node, segment;
		bool known;
	} results[] = { { 0, 0, true },  { 0, 1, true },  { 1, 1, true },
			{ 1, 2, false }, { 2, 0, false }, { 0, SCAN_SEGMENTS, false } };
	struct scan_replay replay;
	struct scan_node_segment segment;

	cr_assert(scan_nodes_add(&nodes, &launch, segments));
	cr_assert(scan_nodes_add(&nodes, &launch, segments));
	for (uint32_t i = 0; i < sizeof(results) / sizeof(*results); i++) {
		write_result(i, results[i].node, results[i].segment, i);
		cr_expect_eq(read_result(&replay, &segment), results[i].known, "%u", i);
	}
	cr_expect_eq(lost, 0);
}

Test(scan_nodes, after_a_whole_turn_of_the_ring_a_quarter_of_it_is_left_to_who_writes, .init = setup)
{
	struct scan_replay replay;
	struct scan_node_segment segment;

	cr_assert(scan_nodes_add(&nodes, &launch, segments));
	for (uint64_t i = 0; i < SCAN_REPLAYS; i++)
		write_result(i, 0, 0, i);
	cr_assert(read_result(&replay, &segment) && replay.replay == 0, "a full ring has lost nothing");
	write_result(SCAN_REPLAYS + 1, 0, 0, SCAN_REPLAYS + 1);
	cr_assert(read_result(&replay, &segment));
	cr_expect_eq(replay.replay, SCAN_REPLAYS / 4 + 1);
	cr_expect_eq(lost, SCAN_REPLAYS / 4);
}

Test(scan_nodes, segments_of_a_call_add_up_to_its_sides_and_a_closed_table_takes_no_call, .init = setup)
{
	int32_t call = scan_nodes_call(&nodes, &(struct scan_captured){ 0 });

	cr_assert_eq(call, 0);
	segments[0] = (struct scan_node_segment){ .call = 0, .sides = RW_OWNER_SCAN_IN };
	segments[1] = (struct scan_node_segment){ .call = 0, .sides = RW_OWNER_SCAN_OUT };
	cr_assert(scan_nodes_add(&nodes, &launch, segments));
	cr_expect_eq(nodes.calls[0].sides, RW_OWNER_SCAN_IN | RW_OWNER_SCAN_OUT);
	struct scan_nodes closed = { 0 };
	cr_expect_eq(scan_nodes_call(&closed, &(struct scan_captured){ 0 }), -1);
	scan_nodes_sample(&closed, 7);
	scan_nodes_sample(&nodes, 7);
	cr_expect_eq(*nodes.mask, 7);
}

Test(scan_nodes, so_many_segments_fit_and_no_more, .init = setup)
{
	launch.segment_count = SCAN_SEGMENTS;
	uint32_t taken = 0;

	while (scan_nodes_add(&nodes, &launch, segments))
		taken++;
	cr_expect_eq(taken, SCAN_NODE_SEGMENTS / SCAN_SEGMENTS);
	cr_expect_eq((uintptr_t)&launch.scratch->partials[launch.segment_count] <= (1 << 20) + scan_nodes_device_size(), true);
}
