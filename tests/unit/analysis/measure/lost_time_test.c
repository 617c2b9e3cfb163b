/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "analysis/measure/lost_time.h"

enum { RANKS = 4 };

struct stage {
	struct job job;
	struct instances instances;
	struct member members[8];
	struct communicator pairs[3], all;
};

static uint64_t ms(uint64_t value)
{
	return value * 1000000;
}

/* Chains of ranks 0-1, 1-2, 2-3, and one communicator of all. */
static struct stage *stage_open(void)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	stage->job.rank_count = RANKS;
	for (uint32_t rank = 0; rank < RANKS; rank++)
		stage->members[rank] = (struct member){ .rank = rank, .comm_rank = (int32_t)rank };
	for (uint32_t i = 0; i < 3; i++)
		stage->pairs[i] = (struct communicator){
			.index = i, .size = 2, .members = &stage->members[i], .member_count = 2
		};
	stage->all = (struct communicator){ .index = 3, .size = RANKS, .members = stage->members, .member_count = RANKS };
	return stage;
}

static void stage_close(struct stage *stage)
{
	instances_free(&stage->instances);
	free(stage);
}

/* A finished instance with these arrivals, the n-th that its ranks have called; the first member is late by late_ms. */
static struct instance *finished(struct stage *stage, struct communicator *communicator, uint64_t n,
				 const uint64_t *arrivals_ms, uint32_t late_ms)
{
	struct instance_key key = { .communicator = communicator->index, .source = -1, .target = -1, .sequence = n };
	struct instance *instance = instances_get(&stage->instances, communicator, &key, 0);

	for (uint32_t i = 0; i < communicator->member_count; i++) {
		struct operation *operation = instance_operation(&stage->instances, instance, i);

		operation->ticket = n;
		operation->state = OPERATION_JOINED | OPERATION_STARTED;
		operation->arrival_ns = ms(arrivals_ms[i]);
		operation->late_us = i ? 0 : late_ms * 1000;
		if (operation->arrival_ns > instance->start_ns)
			instance->start_ns = operation->arrival_ns;
	}
	for (uint32_t i = 0; i < communicator->member_count; i++)
		instance->operations[i].done_ns = instance->start_ns;
	instance->judged = true;
	instances_finish(&stage->instances, instance);
	return instance;
}

static uint64_t healed_ms(const struct stage *stage)
{
	const bool healed[RANKS] = { true };

	return lost_time_replay(&stage->instances, 1, healed) / ms(1);
}

Test(lost_time, what_a_rank_lost_passes_from_pair_to_pair_until_all_meet)
{
	struct stage *stage = stage_open();

	finished(stage, &stage->pairs[0], 1, (uint64_t[]){ 2000, 1000 }, 1000);
	finished(stage, &stage->pairs[1], 2, (uint64_t[]){ 2010, 1500 }, 0);
	finished(stage, &stage->pairs[2], 3, (uint64_t[]){ 2020, 1000 }, 0);
	finished(stage, &stage->all, 4, (uint64_t[]){ 2010, 2020, 2030, 2040 }, 0);
	cr_assert_eq(healed_ms(stage), 1000 - 490, "rank 1 came to the second pair at 1010, rank 2 had been there at 1500");
	stage_close(stage);
}

Test(lost_time, the_order_in_which_boxes_were_read_changes_nothing)
{
	struct stage *stage = stage_open();

	finished(stage, &stage->pairs[2], 3, (uint64_t[]){ 2020, 1000 }, 0);
	finished(stage, &stage->pairs[1], 2, (uint64_t[]){ 2010, 1500 }, 0);
	finished(stage, &stage->pairs[0], 1, (uint64_t[]){ 2000, 1000 }, 1000);
	finished(stage, &stage->all, 4, (uint64_t[]){ 2010, 2020, 2030, 2040 }, 0);
	cr_assert_eq(healed_ms(stage), 1000 - 490);
	stage_close(stage);
}

Test(lost_time, a_process_that_sees_its_gpu_later_than_the_others_changes_nothing)
{
	struct stage *stage = stage_open();
	struct instance *first = finished(stage, &stage->pairs[0], 1, (uint64_t[]){ 2015, 1000 }, 1000);

	first->operations[1].done_ns = ms(2001);
	struct instance *second = finished(stage, &stage->pairs[1], 2, (uint64_t[]){ 2001, 1000 }, 0);
	second->operations[1].done_ns = ms(2002);
	finished(stage, &stage->pairs[2], 3, (uint64_t[]){ 2002, 1000 }, 0);
	finished(stage, &stage->all, 4, (uint64_t[]){ 2015, 2010, 2010, 2010 }, 0);
	cr_assert_geq(healed_ms(stage), 1000 - 25, "the first pair came first, whenever its late rank was seen to come");
	stage_close(stage);
}

Test(lost_time, what_was_called_ahead_on_another_stream_takes_nothing_away)
{
	struct stage *stage = stage_open();

	finished(stage, &stage->pairs[0], 2, (uint64_t[]){ 2000, 1000 }, 1000);
	finished(stage, &stage->pairs[1], 1, (uint64_t[]){ 2001, 2001 }, 0);
	finished(stage, &stage->all, 3, (uint64_t[]){ 2000, 2000, 1000, 1000 }, 0);
	cr_assert_eq(healed_ms(stage), 1000);
	stage_close(stage);
}

Test(lost_time, one_stall_holds_up_every_stream)
{
	struct stage *stage = stage_open();
	struct instance *first = finished(stage, &stage->pairs[0], 1, (uint64_t[]){ 2000, 1000 }, 1000);

	for (uint32_t i = 0; i < 2; i++)
		first->operations[i].done_ns = ms(2500); /* goes on while the other stream does, too */
	finished(stage, &stage->all, 2, (uint64_t[]){ 2000, 1000, 1000, 1000 }, 0);
	cr_assert_eq(healed_ms(stage), 1000, "its lateness was counted where it came first");
	stage_close(stage);
}

Test(lost_time, who_sends_into_a_buffer_waits_for_nobody)
{
	struct stage *stage = stage_open();
	struct instance *sent = finished(stage, &stage->pairs[0], 1, (uint64_t[]){ 2000, 1000 }, 1000);

	sent->operations[1].done_ns = ms(1001);
	finished(stage, &stage->pairs[1], 2, (uint64_t[]){ 2000, 1900 }, 0);
	cr_assert_eq(healed_ms(stage), 1000);
	cr_assert_eq(stage->instances.finished_last->start_ns, ms(2000));
	finished(stage, &stage->all, 3, (uint64_t[]){ 2001, 2001, 2001, 2001 }, 0);
	cr_assert_eq(healed_ms(stage), 0, "its own work took rank 1 as long as the late one");
	stage_close(stage);
}

Test(lost_time, passes_through_calls_of_a_group_that_wait_for_each_other_in_a_ring)
{
	struct stage *stage = stage_open();

	finished(stage, &stage->pairs[0], 1, (uint64_t[]){ 2000, 1000 }, 1000);
	struct instance *there = finished(stage, &stage->pairs[1], 2, (uint64_t[]){ 2000, 2000 }, 0);
	struct instance *back = finished(stage, &stage->pairs[1], 3, (uint64_t[]){ 2000, 2000 }, 0);
	there->operations[1].ticket = 3; /* rank 1 calls them in this order, rank 2 in the other */
	back->operations[1].ticket = 2;
	finished(stage, &stage->pairs[2], 4, (uint64_t[]){ 2000, 1000 }, 0);
	cr_assert_eq(healed_ms(stage), 1000);
	stage_close(stage);
}

/* Rank 1 called `second` before `first`, and saw it end before it came to that; rank 2 the other way round. */
Test(lost_time, in_a_ring_the_call_that_started_first_goes_first_whichever_ended_first)
{
	for (int swapped = 0; swapped < 2; swapped++) {
		struct stage *stage = stage_open();
		struct instance *first = NULL, *second = NULL;

		finished(stage, &stage->pairs[0], 1, (uint64_t[]){ 1980, 1000 }, 980);
		for (int i = 0; i < 2; i++)
			if (i == swapped)
				first = finished(stage, &stage->pairs[1], 2, (uint64_t[]){ 2000, 1000 }, 0);
			else
				second = finished(stage, &stage->pairs[1], 3, (uint64_t[]){ 1990, 2005 }, 0);
		first->operations[0].ticket = 3;
		second->operations[0].ticket = 2;
		second->operations[0].done_ns = ms(1999);
		finished(stage, &stage->all, 4, (uint64_t[]){ 2010, 2010, 2010, 1000 }, 0);
		cr_expect_eq(healed_ms(stage), 980, "%lu", healed_ms(stage));
		stage_close(stage);
	}
}

Test(lost_time, no_more_is_won_than_there_was_lateness)
{
	struct stage *stage = stage_open();

	finished(stage, &stage->pairs[0], 1, (uint64_t[]){ 2000, 1000 }, 200);
	finished(stage, &stage->all, 2, (uint64_t[]){ 2000, 2000, 1000, 1000 }, 0);
	cr_assert_eq(healed_ms(stage), 200);
	stage_close(stage);
}
