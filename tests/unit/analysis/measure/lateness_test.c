/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "analysis/measure/lateness.h"

enum { RANKS = 4 };

struct stage {
	struct job job;
	struct instances instances;
	struct rank ranks[RANKS];
	struct process processes[RANKS];
	struct member members[RANKS];
	struct communicator pair, all;
	uint16_t state; /* that rank 1's operations have besides */
};

static uint64_t ms(uint64_t value)
{
	return value * 1000000;
}

/* All ranks in one communicator; ranks 0 and 1 are in another one, too. What they did before is not known. */
static struct stage *stage_open(void)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	stage->job.ranks = stage->ranks;
	stage->job.rank_count = RANKS;
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		stage->processes[rank].trace = calloc(JOB_TRACE, sizeof(struct trace));
		stage->members[rank] =
		    (struct member){ .process = &stage->processes[rank], .rank = rank, .comm_rank = (int32_t)rank };
	}
	stage->pair = (struct communicator){ .index = 0, .size = 2, .members = stage->members, .member_count = 2 };
	stage->all =
	    (struct communicator){ .index = 1, .size = RANKS, .members = stage->members, .member_count = RANKS };
	return stage;
}

static void stage_close(struct stage *stage)
{
	for (uint32_t rank = 0; rank < RANKS; rank++)
		free(stage->processes[rank].trace);
	instances_free(&stage->instances);
	free(stage);
}

/* An instance to which all came at others_ms, but for rank 0: how late was that by itself, in ms? */
static uint32_t judge(struct stage *stage, struct communicator *communicator, uint64_t n, uint64_t others_ms,
		      uint64_t arrival_ms)
{
	struct instance_key key = { .communicator = communicator->index, .source = -1, .target = -1, .sequence = n };
	struct instance *instance = instances_get(&stage->instances, communicator, &key, 0);

	for (uint32_t i = 0; i < communicator->member_count; i++) {
		struct operation *operation = instance_operation(&stage->instances, instance, i);

		operation->ticket = n;
		operation->state = OPERATION_JOINED | OPERATION_STARTED | (i == 1 ? stage->state : 0);
		operation->arrival_ns = ms(i ? others_ms : arrival_ms);
	}
	lateness_judge(&stage->job, instance);
	return instance->operations[0].late_us / 1000;
}

Test(lateness, counts_whole_also_where_something_later_was_judged_first)
{
	struct stage *stage = stage_open();

	cr_expect_eq(judge(stage, &stage->pair, 2, 2050, 2055), 5);
	cr_expect_eq(judge(stage, &stage->all, 1, 1000, 2000), 1000);
	stage_close(stage);
}

Test(lateness, of_one_stall_counts_once_in_whichever_order_it_is_judged)
{
	struct stage *stage = stage_open();

	cr_expect_eq(judge(stage, &stage->all, 1, 1000, 2000), 1000);
	cr_expect_eq(judge(stage, &stage->pair, 2, 1000, 2050), 50);
	cr_expect_eq(judge(stage, &stage->pair, 4, 4000, 5050), 1050);
	cr_expect_eq(judge(stage, &stage->all, 3, 4000, 5000), 0);
	cr_expect_eq(judge(stage, &stage->pair, 6, 7500, 8050), 550);
	cr_expect_eq(judge(stage, &stage->all, 5, 7000, 8000), 500);
	stage_close(stage);
}

Test(lateness, before_what_is_remembered_is_charged_already)
{
	struct stage *stage = stage_open();
	uint64_t n = 2, at_ms = 3000;

	for (; n < STALLS_KEPT + 3; n++, at_ms += 20)
		cr_expect_eq(judge(stage, &stage->pair, n, at_ms, at_ms + 10), 10);
	cr_expect_eq(judge(stage, &stage->all, 1, 1000, 2000), 0);
	cr_expect_eq(judge(stage, &stage->all, n, at_ms, at_ms + 10), 10);
	stage_close(stage);
}

/* Its turn was not to have GPU progress on all ranks: one knows when it was launched, another when its GPU came. */
Test(lateness, is_not_judged_where_progress_was_sampled_out)
{
	struct stage *stage = stage_open();

	stage->state = OPERATION_HOST;
	cr_expect_eq(judge(stage, &stage->all, 1, 1000, 2000), 1000);
	stage->state = OPERATION_APART;
	cr_expect_eq(judge(stage, &stage->all, 2, 3000, 4000), 1000, "all have GPU progress after all, as after a pause");
	stage->state = OPERATION_HOST | OPERATION_APART;
	cr_expect_eq(judge(stage, &stage->all, 3, 5000, 6000), 0);
	stage_close(stage);
}
