/* SPDX-License-Identifier: MIT */
/* Launches that run more than once, as nodes of graphs do: for each that keeps the contract, see scan_runner.h. */
#include <criterion/criterion.h>
#include <string.h>

#include "rankwatch/operation.h"
#include "scan_reference.h"
#include "scan_runner.h"

enum { BLOCKS = 3, ELEMENTS = 40000 };

static struct scan_replay ring[SCAN_REPLAYS];
static uint64_t mask, written;
static struct scan_node node;
static struct scan_scratch scratch;
static struct scan_launch launch;
static float buffers[2][ELEMENTS];

static void setup(void)
{
	memset(ring, 0, sizeof(ring));
	memset(&node, 0, sizeof(node));
	memset(&scratch, 0, sizeof(scratch));
	mask = written = 0;
	launch = (struct scan_launch){ .scratch = &scratch, .segment_count = 2,
				       .replays = { .ring = ring, .mask = &mask, .written = &written, .node = &node, .number = 7 } };
	for (int i = 0; i < 2; i++)
		launch.segments[i] = (struct scan_segment){ .address = (uintptr_t)buffers[i], .elements = ELEMENTS,
							    .dtype = RW_DTYPE_FLOAT32 };
}

static void expect_replay(uint64_t place, uint32_t segment, uint64_t replay)
{
	const struct scan_replay *got = &ring[place % SCAN_REPLAYS];
	struct scan_result want;

	reference_scan(RW_DTYPE_FLOAT32, 0, buffers[segment], ELEMENTS, &want);
	cr_assert_eq(got->result.sequence, place + 1);
	cr_assert_eq(got->replay, replay);
	cr_assert_eq(got->node, 7);
	cr_assert_eq(got->segment, segment);
	cr_assert_eq(got->result.nan, want.nan);
	cr_assert_eq(got->result.first_bad, want.first_bad);
	cr_assert_eq(got->result.digest, want.digest);
	cr_assert(got->result.gpu_start_ns <= got->result.gpu_end_ns);
}

Test(scan_node, each_replay_takes_the_next_places_with_its_number_and_what_was_there_then, .init = setup)
{
	for (uint64_t replay = 0; replay < 3; replay++) {
		buffers[replay % 2][100 * replay] = replay % 2 ? (float)replay : __builtin_nanf("");
		scan_run(&launch, BLOCKS);
		expect_replay(2 * replay, 0, replay);
		expect_replay(2 * replay + 1, 1, replay);
	}
	cr_assert_eq(written, 6);
}

Test(scan_node, the_ring_wraps_and_sequences_go_on, .init = setup)
{
	written = 3 * SCAN_REPLAYS - 1;
	scan_run(&launch, BLOCKS);
	expect_replay(3 * SCAN_REPLAYS - 1, 0, 0);
	expect_replay(3 * SCAN_REPLAYS, 1, 0);
}

Test(scan_node, a_masked_replay_reads_nothing_counts_and_takes_the_mask_for_the_next_one, .init = setup)
{
	static const uint64_t scanned[] = { 0, 4, 8 };

	mask = 3; /* known to a replay when the one before it ends: the first is always scanned */
	for (int i = 0; i < 9; i++)
		scan_run(&launch, BLOCKS);
	cr_assert_eq(written, 2 * 3);
	for (uint64_t i = 0; i < 3; i++)
		expect_replay(2 * i, 0, scanned[i]);
	launch.segments[0].address = 1; /* a fault if it were read */
	scan_run(&launch, BLOCKS);
	cr_assert_eq(written, 2 * 3);
}

/* The blocks of another replay have entered and not left: what both add up is nobody's. */
Test(scan_node, replays_that_run_beside_each_other_have_no_result_and_the_next_one_is_right, .init = setup)
{
	node.entered = BLOCKS;
	scan_run(&launch, BLOCKS);
	cr_assert_eq(written, 0);
	cr_assert_eq(node.finished, 0);
	node.left += BLOCKS; /* now the other one is gone, without having cleared what it shared */
	scratch.partials[0].nan = 3;
	scan_run(&launch, BLOCKS);
	cr_assert_eq(written, 0);
	cr_assert_eq(node.finished, 3);
	scratch.partials[0].nan = 0; /* the twin's other replay adds nothing */
	scan_run(&launch, BLOCKS);
	expect_replay(0, 0, 3);
}

Test(scan_node, a_node_leaves_its_scratch_zeroed_behind_its_last_partial_untouched, .init = setup)
{
	static const struct scan_scratch zero;

	scratch.partials[2].nan = 99;
	scan_run(&launch, BLOCKS);
	cr_assert_eq(scratch.partials[2].nan, 99);
	scratch.partials[2].nan = 0;
	cr_assert_eq(memcmp(&scratch, &zero, sizeof(zero)), 0);
}
