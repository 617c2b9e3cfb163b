/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "analysis/lost_time.h"

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

/* A finished instance with these arrivals; the first member's operation is late by late_ms. */
static void finished(struct stage *stage, struct communicator *communicator, const uint64_t *arrivals_ms, uint32_t late_ms)
{
	struct instance_key key = { .communicator = communicator->index, .source = -1, .target = -1, .sequence = 1 };
	struct instance *instance = instances_get(&stage->instances, communicator, &key, 0);

	for (uint32_t i = 0; i < communicator->member_count; i++) {
		struct operation *operation = instance_operation(&stage->instances, instance, i);

		operation->state = OPERATION_JOINED | OPERATION_STARTED;
		operation->arrival_ns = ms(arrivals_ms[i]);
		operation->late_us = i ? 0 : late_ms * 1000;
		if (operation->arrival_ns > instance->start_ns)
			instance->start_ns = operation->arrival_ns;
	}
	instance->judged = true;
	instances_finish(&stage->instances, instance);
}

static uint64_t healed_ms(const struct stage *stage)
{
	const bool healed[RANKS] = { true };

	return lost_time_replay(&stage->job, &stage->instances, 1, healed) / ms(1);
}

Test(lost_time, what_a_rank_lost_passes_from_pair_to_pair_until_all_meet)
{
	struct stage *stage = stage_open();

	finished(stage, &stage->pairs[0], (uint64_t[]){ 2000, 1000 }, 1000);
	finished(stage, &stage->pairs[1], (uint64_t[]){ 2010, 1500 }, 0);
	finished(stage, &stage->pairs[2], (uint64_t[]){ 2020, 1000 }, 0);
	finished(stage, &stage->all, (uint64_t[]){ 2010, 2020, 2030, 2040 }, 0);
	cr_assert_eq(healed_ms(stage), 1000 - 490, "rank 1 came to the second pair at 1010, rank 2 had been there at 1500");
	stage_close(stage);
}

Test(lost_time, the_order_in_which_boxes_were_read_changes_nothing)
{
	struct stage *stage = stage_open();

	finished(stage, &stage->pairs[2], (uint64_t[]){ 2020, 1000 }, 0);
	finished(stage, &stage->pairs[1], (uint64_t[]){ 2010, 1500 }, 0);
	finished(stage, &stage->pairs[0], (uint64_t[]){ 2000, 1000 }, 1000);
	finished(stage, &stage->all, (uint64_t[]){ 2010, 2020, 2030, 2040 }, 0);
	cr_assert_eq(healed_ms(stage), 1000 - 490);
	stage_close(stage);
}
