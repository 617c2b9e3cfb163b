/* SPDX-License-Identifier: MIT */
/* What the box says when somebody else writes NCCL's event mask, as NCCL's RAS client can. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <time.h>

#include "tests/abi/player.h"

enum { ID = 0x5eed, LOOKS = 2 };

static struct player player;
static struct box_reader reader;

static void begin(int abi)
{
	const char *directory = player_directory();

	player_init(&player, player_load(), abi, ID, 1, 4);
	player_read(&reader, directory);
}

static void pause_1_ms(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* The plugin's thread takes an anchor whenever it looks at the mask. 20 s at most. */
static uint64_t missing_after_looks(void)
{
	cr_assert_eq(box_reader_refresh(&reader), 0);
	uint32_t before = reader.header.anchors_written;

	for (int tries = 0; tries < 20000 && reader.header.anchors_written < before + LOOKS; tries++) {
		pause_1_ms();
		cr_assert_eq(box_reader_refresh(&reader), 0);
	}
	cr_assert_geq(reader.header.anchors_written, before + LOOKS);
	return reader.header.mask_missing;
}

static void set_mask(int mask)
{
	__atomic_store_n(&player.mask, mask, __ATOMIC_RELAXED);
}

static struct criterion_test_params abi_versions(void)
{
	static int versions[] = { 1, 4, 7 };

	return cr_make_param_array(int, versions, 3);
}

ParameterizedTestParameters(mask, what_somebody_takes_away_is_noted_and_not_put_back)
{
	return abi_versions();
}

ParameterizedTest(int *abi, mask, what_somebody_takes_away_is_noted_and_not_put_back)
{
	begin(*abi);
	int asked = player.mask;
	cr_expect_eq(missing_after_looks(), 0);
	uint64_t before_ns = reader.header.drain_ns;
	set_mask(0);
	cr_expect_eq(missing_after_looks(), (uint64_t)asked);
	cr_expect(reader.header.mask_ns >= before_ns && reader.header.mask_ns <= reader.header.drain_ns, "since when");
	cr_expect_eq(player.mask, 0);
}

Test(mask, what_was_missing_once_stays_known)
{
	begin(5);
	int asked = player.mask;
	set_mask(asked & ~PROFILER_COLL);
	cr_expect_eq(missing_after_looks(), PROFILER_COLL);
	set_mask(asked & ~PROFILER_P2P);
	cr_expect_eq(missing_after_looks(), PROFILER_COLL | PROFILER_P2P);
	set_mask(asked);
	cr_expect_eq(missing_after_looks(), PROFILER_COLL | PROFILER_P2P);
}

Test(mask, what_somebody_adds_takes_nothing_away)
{
	begin(7);
	set_mask(player.mask | PROFILER_PROXY_STEP | PROFILER_KERNEL_CH);
	cr_expect_eq(missing_after_looks(), 0);
}

/* The word lies in a libnccl that may be gone by then. */
Test(mask, without_a_communicator_nobody_looks)
{
	begin(7);
	player_finalize(&player);
	set_mask(0);
	cr_expect_eq(missing_after_looks(), 0);
}

/* Kernel events that would hang the job are taken back by ourselves. */
Test(mask, kernel_events_that_are_taken_back_are_nobody_else_s)
{
	setenv("RANKWATCH_KERNELCH", "1", 1);
	begin(6);
	cr_expect_eq(missing_after_looks(), 0);
	set_mask(player.mask & ~PROFILER_KERNEL_CH);
	cr_expect_eq(missing_after_looks(), 0);
}
