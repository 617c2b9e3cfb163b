/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measure/pipeline_shape.h"
#include "sim/workload/schedule.h"

enum { RANKS_MAX = 12, CALLS_MAX = 2048 };

struct pipeline {
	struct pipeline_call calls[RANKS_MAX][CALLS_MAX];
	struct pipeline_rank ranks[RANKS_MAX];
};

static bool is_exchange(enum action_kind kind)
{
	return kind >= ACTION_SEND_F;
}

/* The rank at the other end of this exchange. */
static uint32_t peer_of(const struct schedule *schedule, const struct action *action)
{
	bool onwards = action->kind == ACTION_SEND_F || action->kind == ACTION_RECV_B;

	return (uint32_t)schedule_rank_of_stage(schedule, action->stage + (onwards ? 1 : -1));
}

/* What PyTorch's schedules call, as the workload plays them. */
static void read_schedule(const struct schedule *schedule, struct pipeline *pipeline)
{
	for (int rank = 0; rank < schedule->ranks; rank++) {
		const struct action_list *list = &schedule->lists[rank];
		uint32_t count = 0;

		for (size_t i = 0; i < list->count; i++) {
			if (!is_exchange(list->items[i].kind))
				continue;
			cr_assert_lt(count, CALLS_MAX);
			pipeline->calls[rank][count++] = (struct pipeline_call){
				.peer = peer_of(schedule, &list->items[i]),
				.sends = list->items[i].kind == ACTION_SEND_F || list->items[i].kind == ACTION_SEND_B,
			};
		}
		pipeline->ranks[rank] = (struct pipeline_rank){ pipeline->calls[rank], count };
	}
}

struct score {
	unsigned right, open, silent, wrong;
};

/* from_microbatches: times the number of ranks. */
static struct score play_all(const char *kind, int from_ranks, int from_microbatches)
{
	static struct pipeline pipeline;
	struct score score = { 0 };

	for (int ranks = from_ranks; ranks <= 8; ranks++)
		for (int each = 1; each <= 4; each++)
			for (int microbatches = from_microbatches ? from_microbatches * ranks : 1; microbatches <= 40; microbatches++) {
				struct schedule schedule;
				int err = schedule_make(&schedule, schedule_kind_find(kind), ranks, each, microbatches);

				if (!err) {
					read_schedule(&schedule, &pipeline);
					struct pipeline_shape shape = pipeline_shape_find(pipeline.ranks, (uint32_t)ranks);
					uint32_t loss = (uint32_t)schedule_rank_of_stage(&schedule, schedule.stages - 1);
					bool named = shape.end >= PIPELINE_LIKELY;

					score.right += named && shape.last == loss;
					score.wrong += named && shape.last != loss;
					score.wrong += shape.end == PIPELINE_OPEN && shape.first != loss && shape.last != loss;
					score.open += shape.end == PIPELINE_OPEN;
					score.silent += shape.end == PIPELINE_NONE;
					cr_expect(!(named && shape.last != loss), "%s, %d ranks, %d stages each, %d micro-batches: rank %u, not %u",
						  kind, ranks, each, microbatches, shape.last, loss);
				}
				schedule_close(&schedule);
			}
	printf("%s: right %u, one of two ranks %u, silent %u, wrong %u\n", kind, score.right, score.open, score.silent,
	       score.wrong);
	cr_expect_eq(score.wrong, 0);
	return score;
}

Test(pipeline_shape, gpipe_and_1f1b_end_on_the_last_rank)
{
	struct score gpipe = play_all("gpipe", 2, 0), one = play_all("1f1b", 2, 0);

	cr_expect_eq(gpipe.open + gpipe.silent, 0);
	cr_expect_eq(one.open + one.silent, 1, "two ranks, four micro-batches");
	cr_expect_gt(one.right, 200);
}

Test(pipeline_shape, interleaved_stages_end_on_the_last_rank)
{
	struct score score = play_all("interleaved", 3, 0);

	cr_expect_gt(score.right, 100);
	cr_expect_eq(score.open + score.silent, 0);
	play_all("interleaved", 2, 0); /* of two ranks the way back is the way there */
}

Test(pipeline_shape, a_v_ends_where_it_began)
{
	struct score score = play_all("zbv", 3, 2);

	cr_expect_gt(score.right, 100);
	cr_expect_eq(score.open + score.silent, 0);
	play_all("zbv", 2, 0); /* with fewer micro-batches than fill it, and of two ranks: one of two, or right */
}

/* Not pipelines: everybody exchanges with everybody, or round a ring; evaluation goes one way only. */
Test(pipeline_shape, other_exchanges_are_no_pipelines)
{
	static struct pipeline pipeline;

	for (uint32_t ranks = 2; ranks <= 8; ranks++) {
		for (uint32_t rank = 0; rank < ranks; rank++) { /* expert parallel: AllToAll of sends and receives */
			uint32_t count = 0;

			for (uint32_t peer = 0; peer < ranks; peer++)
				for (int sends = 1; sends >= 0 && peer != rank; sends--)
					pipeline.calls[rank][count++] = (struct pipeline_call){ peer, sends };
			pipeline.ranks[rank] = (struct pipeline_rank){ pipeline.calls[rank], count };
		}
		cr_expect_eq(pipeline_shape_find(pipeline.ranks, ranks).end, PIPELINE_NONE, "AllToAll of %u", ranks);
		for (uint32_t rank = 0; rank < ranks; rank++) { /* context parallel: keys and values go round */
			pipeline.calls[rank][0] = (struct pipeline_call){ (rank + 1) % ranks, true };
			pipeline.calls[rank][1] = (struct pipeline_call){ (rank + ranks - 1) % ranks, false };
			pipeline.ranks[rank].count = 2;
		}
		cr_expect_eq(pipeline_shape_find(pipeline.ranks, ranks).end, PIPELINE_NONE, "ring of %u", ranks);
		for (uint32_t rank = 0; rank < ranks; rank++) {
			uint32_t count = 0;

			if (rank)
				pipeline.calls[rank][count++] = (struct pipeline_call){ rank - 1, false };
			if (rank + 1 < ranks)
				pipeline.calls[rank][count++] = (struct pipeline_call){ rank + 1, true };
			pipeline.ranks[rank].count = count;
		}
		cr_expect_eq(pipeline_shape_find(pipeline.ranks, ranks).end, PIPELINE_NONE, "forward alone of %u", ranks);
	}
}
