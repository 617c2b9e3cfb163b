/* SPDX-License-Identifier: MIT */
/* What the box shows of a call that makes a communicator, while its ranks are awaited. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdlib.h>

#include "course.h"
#include "played_nccl.h"
#include "tests/abi/player.h"

enum { RANKS = 4, OWN = 1, REFUSED = 5, NCCL = 0xd00d };

static void *world;
static struct player players[4];
static int player_count, abi;
static struct rw_init seen; /* inside the last call */

static struct rw_init *shown(void)
{
	return &recording_get()->box.header->init;
}

static void look(void)
{
	struct recording *recording = recording_get();

	seen = recording ? recording->box.header->init : (struct rw_init){ 0 };
}

static void see_end(void *comm)
{
	(void)comm;
	look();
}

static void report(void *comm, int nranks, int rank)
{
	(void)comm;
	player_init(&players[player_count++ % 4], dlopen(NULL, RTLD_NOW), abi, NCCL + (uint64_t)nranks, rank, nranks);
}

/* A NCCL that reports a communicator before its call returns. abi 0: it reports none. */
static void begin(int version)
{
	if (!course.out)
		course_begin(1);
	course.now_ns = 1000;
	abi = version;
	played_nccl.init = abi ? report : NULL;
	ncclCommInitRank(&world, RANKS, (struct nccl_unique_id){ .bytes = { 3 } }, OWN);
	played_nccl.inside = look;
	played_nccl.nranks = 2;
	played_nccl.rank = 0;
	look();
	cr_assert_eq(seen.since_ns, 0);
}

static uint64_t splits(void)
{
	return recording_get()->box.communicators[0].splits;
}

static int split(int color)
{
	static void *child; /* in a group NCCL writes it later */

	seen = (struct rw_init){ 0 };
	return ncclCommSplit(world, color, 0, &child, NULL);
}

Test(awaited, a_split_awaits_all_ranks_of_its_parent)
{
	static const int versions[] = { 0, 4, 5, 7 };

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		for (int color = NCCL_SPLIT_NO_COLOR; color < 2; color++) {
			player_count = 0;
			if (i + (size_t)(color + 1))
				ncclCommDestroy(world);
			begin(versions[i]);
			uint32_t at = (uint32_t)recording_get()->box.header->comms_used - 1;
			const struct rw_communicator *parent = &recording_get()->box.communicators[at];

			cr_expect_eq(parent->splits, 1, "abi %d", versions[i]);
			split(color);
			cr_expect_eq(seen.since_ns, 1000, "abi %d", versions[i]);
			cr_expect_eq(seen.nranks, RANKS);
			cr_expect_eq(seen.rank, OWN);
			cr_expect_eq(seen.parent, parent->id);
			cr_expect_eq(shown()->since_ns, 0, "it has returned");
			cr_expect_eq(parent->splits, 2);
		}
}

Test(awaited, whoever_splits_and_into_what_the_call_has_one_id_and_the_next_one_has_another)
{
	begin(5);
	split(NCCL_SPLIT_NO_COLOR);
	uint64_t first = seen.id;
	split(0);
	cr_expect_neq(seen.id, first);
	cr_expect_eq(splits(), 3);

	/* Another rank of the same communicator. */
	ncclCommInitRank(&world, RANKS, (struct nccl_unique_id){ .bytes = { 3 } }, 3);
	split(1);
	cr_expect_eq(seen.rank, 3);
	cr_expect_eq(seen.id, first);
}

Test(awaited, a_split_that_nccl_refuses_is_none)
{
	begin(5);
	played_nccl.result = REFUSED;
	cr_expect_eq(split(0), REFUSED);
	uint64_t refused = seen.id;
	cr_expect_neq(refused, 0);
	cr_expect_eq(shown()->since_ns, 0);
	cr_expect_eq(splits(), 1);
	played_nccl.result = 0;
	split(0);
	cr_expect_eq(seen.id, refused);
}

Test(awaited, in_a_group_ranks_are_awaited_in_the_end_of_the_group)
{
	for (int color = NCCL_SPLIT_NO_COLOR; color < 1; color++) {
		begin(0);
		ncclGroupStart();
		split(color);
		cr_expect_eq(seen.since_ns, 1000);
		cr_expect_eq(shown()->since_ns, 1000, "the call has returned, and the group goes on");
		seen = (struct rw_init){ 0 };
		ncclGroupEnd();
		cr_expect_eq(seen.since_ns, 1000);
		cr_expect_eq(shown()->since_ns, 0);
		ncclCommDestroy(world);
	}
}

Test(awaited, a_split_is_shown_only_where_all_ranks_know_the_parent_alike)
{
	begin(2);
	split(0);
	cr_expect_eq(seen.since_ns, 0, "before ABI v4 ids come with the first operation");
	cr_expect_eq(splits(), 0);
	ncclCommSplit((void *)0x1230, 0, 0, &world, NULL);
	cr_expect_eq(seen.since_ns, 0, "nobody has seen the making of this one");
}

Test(awaited, ranks_that_are_left_out_of_a_shrunk_communicator_are_not_awaited)
{
	int excluded[] = { 0, 2 };
	void *child;

	begin(5);
	ncclCommShrink(world, excluded, 2, &child, NULL, 0);
	cr_expect_eq(seen.since_ns, 1000);
	cr_expect_eq(seen.nranks, 2);
	cr_expect_eq(seen.rank, 0);
	cr_expect_eq(seen.parent, 0);
	cr_expect_eq(splits(), 1);
	cr_expect_eq(shown()->since_ns, 0);
}

static void expect_seen(enum rw_init_call call, int nranks, int rank)
{
	cr_expect_eq(seen.since_ns, 1000);
	cr_expect_eq(seen.call, call);
	cr_expect_eq(seen.nranks, nranks);
	cr_expect_eq(seen.rank, rank);
	cr_expect_eq(seen.parent, 0);
	cr_expect_eq(shown()->since_ns, 0, "it has returned");
}

Test(awaited, ranks_of_a_communicator_that_grows_await_each_other_and_new_ones)
{
	void *grown;

	begin(6);
	played_nccl.rank = OWN;
	ncclCommGrow(world, RANKS + 2, NULL, -1, &grown, NULL);
	expect_seen(RW_INIT_CALL_GROW, RANKS + 2, OWN);
	uint64_t first = seen.id;
	ncclCommGrow(world, RANKS + 2, &(struct nccl_unique_id){ .bytes = { 9 } }, -1, &grown, NULL);
	expect_seen(RW_INIT_CALL_GROW, RANKS + 2, OWN);
	cr_expect_neq(seen.id, first);
	ncclCommGrow(NULL, RANKS + 2, &(struct nccl_unique_id){ .bytes = { 9 } }, RANKS, &grown, NULL);
	expect_seen(RW_INIT_CALL_JOIN, RANKS + 2, RANKS);
	cr_expect_eq(splits(), 1);
}

static void expect_meeting(enum rw_init_call call, uint64_t splits_then)
{
	cr_expect_eq(seen.since_ns, 1000);
	cr_expect_eq(seen.call, call);
	cr_expect_eq(seen.nranks, RANKS);
	cr_expect_eq(seen.rank, OWN);
	cr_expect_eq(seen.parent, recording_get()->box.communicators[0].id);
	cr_expect_eq(shown()->since_ns, 0, "it has returned");
	cr_expect_eq(splits(), splits_then);
	seen = (struct rw_init){ 0 };
}

Test(awaited, all_ranks_of_a_communicator_come_to_its_suspend_and_to_its_resume)
{
	begin(6);
	ncclCommSuspend(world, NCCL_SUSPEND_MEMORY);
	uint64_t first = seen.id;
	expect_meeting(RW_INIT_CALL_SUSPEND, 2);
	ncclCommResume(world);
	uint64_t second = seen.id;
	expect_meeting(RW_INIT_CALL_RESUME, 3);
	cr_expect_neq(second, first);
	ncclCommSuspend(world, NCCL_SUSPEND_MEMORY);
	cr_expect_neq(seen.id, first);
	expect_meeting(RW_INIT_CALL_SUSPEND, 4);

	ncclCommSuspend(world, 0);
	cr_expect_eq(seen.since_ns, 0, "NCCL does nothing");
	played_nccl.result = REFUSED;
	ncclCommResume(world);
	expect_meeting(RW_INIT_CALL_RESUME, 4);
	played_nccl.result = NCCL_SUCCESS;
	ncclGroupStart();
	ncclCommResume(world);
	cr_expect_eq(seen.since_ns, 0, "the end of the group does it");
	ncclGroupEnd();
	cr_expect_eq(splits(), 4);
}

Test(awaited, what_runs_on_a_communicator_ends_when_it_is_revoked)
{
	void *child;
	int excluded = 0;

	begin(6);
	ncclAllReduce(&world, &world, 1, 7, 0, world, NULL);
	const struct rw_communicator *entry = &recording_get()->box.communicators[0];
	cr_assert_eq(entry->ended_ns, 0);
	played_nccl.result = REFUSED;
	ncclCommRevoke(world, 0);
	cr_expect_eq(entry->ended_ns, 0);
	played_nccl.result = NCCL_SUCCESS;
	ncclCommRevoke(world, 0);
	cr_expect_eq(entry->ended_ns, 1000);
	ncclCommShrink(world, &excluded, 1, &child, NULL, 0);
	cr_expect_eq(seen.nranks, RANKS - 1, "its ranks are still known");
}

Test(awaited, a_communicator_that_ends_is_shown_until_the_call_returns)
{
	begin(6);
	ncclAllReduce(&world, &world, 1, 7, 0, world, NULL); /* now it is known which one it is */
	played_nccl.end = see_end;
	ncclCommDestroy(world);
	expect_seen(RW_INIT_CALL_DESTROY, RANKS, OWN);
}

Test(awaited, one_sided_calls_are_counted_by_communicator)
{
	void *other;

	begin(6);
	ncclCommInitRank(&other, RANKS, (struct nccl_unique_id){ .bytes = { 4 } }, OWN);
	ncclSignal(0, 0, 0, 0, world, NULL);
	ncclSignal(0, 0, 0, 0, world, NULL);
	ncclSignal(0, 0, 0, 0, other, NULL);
	played_nccl.result = REFUSED;
	ncclSignal(0, 0, 0, 0, world, NULL);
	cr_expect_eq(recording_get()->box.communicators[0].one_sided, 2);
	cr_expect_eq(recording_get()->box.communicators[1].one_sided, 1);
	cr_expect_eq(recording_get()->box.header->untracked[RW_UNTRACKED_ONE_SIDED], 3);
}

static int ask(void *comm, int state)
{
	int answer;

	played_nccl.state = state;
	return ncclCommGetAsyncError(comm, &answer);
}

Test(awaited, what_does_not_block_lasts_until_nccl_answers_that_it_is_done)
{
	void *comm;

	begin(0);
	played_nccl.result = NCCL_IN_PROGRESS;
	ncclCommInitRank(&comm, 3, (struct nccl_unique_id){ .bytes = { 4 } }, 2);
	cr_expect_eq(shown()->since_ns, 1000, "it has returned, and goes on");
	ask(comm, NCCL_IN_PROGRESS);
	ask(world, NCCL_SUCCESS);
	cr_expect_eq(shown()->since_ns, 1000);
	cr_expect_eq(shown()->nranks, 3);
	ask(comm, NCCL_SUCCESS);
	cr_expect_eq(shown()->since_ns, 0);

	played_nccl.state = NCCL_SUCCESS;
	split(NCCL_SPLIT_NO_COLOR);
	cr_expect_eq(shown()->since_ns, 1000);
	cr_expect_eq(splits(), 1);
	ask(comm, NCCL_SUCCESS);
	ask(world, NCCL_IN_PROGRESS);
	cr_expect_eq(shown()->since_ns, 1000, "the parent is at work");
	ask(world, REFUSED);
	cr_expect_eq(shown()->since_ns, 0, "it has failed");
	cr_expect_eq(splits(), 2);

	ncclCommResume(world);
	cr_expect_eq(shown()->since_ns, 1000);
	ask(world, NCCL_SUCCESS);
	cr_expect_eq(shown()->since_ns, 0);
	cr_expect_eq(splits(), 3);
}

Test(awaited, what_does_not_block_lasts_until_nccl_reports_the_communicator)
{
	void *comm;

	begin(5);
	played_nccl.init = NULL;
	played_nccl.result = NCCL_IN_PROGRESS;
	ncclCommInitRank(&comm, 3, (struct nccl_unique_id){ .bytes = { 4 } }, 2);
	report(NULL, 2, 0);
	report(NULL, 3, 1);
	cr_expect_eq(shown()->since_ns, 1000, "these are others");
	report(NULL, 3, 2);
	cr_expect_eq(shown()->since_ns, 0);

	split(0);
	cr_expect_eq(shown()->since_ns, 1000);
	report(NULL, 1, 0);
	cr_expect_eq(shown()->since_ns, 0, "one rank is a child, too");
	cr_expect_eq(splits(), 2);

	/* NCCL's thread is faster than the caller's. */
	played_nccl.init = report;
	ncclCommInitRank(&comm, 3, (struct nccl_unique_id){ .bytes = { 5 } }, 2);
	cr_expect_eq(shown()->since_ns, 0);
}

Test(awaited, what_nobody_asks_for_gives_way_and_what_a_thread_waits_in_does_not)
{
	void *first, *second;

	begin(0);
	played_nccl.result = NCCL_IN_PROGRESS;
	ncclCommInitRank(&first, 3, (struct nccl_unique_id){ .bytes = { 4 } }, 2);
	ncclCommInitRank(&second, 2, (struct nccl_unique_id){ .bytes = { 5 } }, 0);
	cr_expect_eq(shown()->nranks, 2);
	ask(first, NCCL_SUCCESS);
	cr_expect_eq(shown()->since_ns, 1000);
	ncclCommAbort(second);
	cr_expect_eq(shown()->since_ns, 0, "it was ended");

	played_nccl.result = NCCL_SUCCESS;
	ncclGroupStart();
	ncclCommInitRank(&first, 3, (struct nccl_unique_id){ .bytes = { 6 } }, 2);
	ncclCommInitRank(&second, 2, (struct nccl_unique_id){ .bytes = { 7 } }, 0);
	cr_expect_eq(shown()->nranks, 3);
	ncclGroupEnd();
	cr_expect_eq(shown()->since_ns, 0);
}
