/* SPDX-License-Identifier: MIT */
/*
 * ZB-V (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory"): two stages on each rank, so that the
 * pipeline turns at the last rank and ends on the first; backward is split, and gradients of weights fill the bubble.
 * In the order that PyTorch's ScheduleZBVZeroBubble has.
 */
#include "sim/workload/model/schedule.h"

struct counts {
	int f[2], i[2], w[2]; /* of the rank's stage on the way out, and on the way back */
};

struct making {
	const struct schedule *schedule;
	struct action_list *list;
	int stages[2];
	struct counts next;
	int err;
};

static int rank_of_stage(const struct schedule *schedule, int stage)
{
	return stage < schedule->ranks ? stage : schedule->stages - 1 - stage;
}

/* The table is made for a full pipeline: micro-batches beyond those of the job are left out. */
static void add(struct making *making, enum action_kind kind, int *count, int chunk)
{
	if (!making->err && *count < making->schedule->microbatches)
		making->err = schedule_append(making->list, kind, making->stages[chunk], *count);
	++*count;
}

static void forward(struct making *making, int chunk)
{
	add(making, ACTION_F, &making->next.f[chunk], chunk);
}

static void backward_input(struct making *making, int chunk)
{
	add(making, ACTION_I, &making->next.i[chunk], chunk);
}

static void backward_weight(struct making *making, int chunk)
{
	add(making, ACTION_W, &making->next.w[chunk], chunk);
}

static void backward(struct making *making, int chunk)
{
	backward_input(making, chunk);
	backward_weight(making, chunk);
}

static void warm_up(struct making *making, int rank)
{
	int ranks = making->schedule->ranks;

	for (int i = 0; i < 2 * (ranks - rank) - 1; i++)
		forward(making, 0);
	for (int i = 0; i < rank; i++) {
		forward(making, 1);
		forward(making, 0);
	}
	for (int i = 0; i < ranks - rank; i++) {
		forward(making, 1);
		backward(making, 1);
	}
}

static void run_full(struct making *making, int microbatches)
{
	struct counts *next = &making->next;

	while (next->f[1] < next->f[0] || next->f[0] < microbatches) {
		if (next->f[0] < microbatches)
			forward(making, 0);
		backward(making, 0);
		forward(making, 1);
		backward(making, 1);
	}
}

static void cool_down(struct making *making, int rank)
{
	struct counts *next = &making->next;

	for (int i = 0; i < rank; i++) {
		backward_input(making, 0);
		backward_input(making, 1);
	}
	for (int i = 0; i < making->schedule->ranks - rank; i++)
		backward(making, 0);
	while (next->w[1] < next->i[1])
		backward_weight(making, 1);
	while (next->w[0] < next->i[0])
		backward_weight(making, 0);
}

static int compute(const struct schedule *schedule, int rank, struct action_list *list)
{
	int full = 2 * schedule->ranks - 1;
	struct making making = { .schedule = schedule, .list = list,
				 .stages = { rank, schedule->stages - 1 - rank } };

	warm_up(&making, rank);
	run_full(&making, schedule->microbatches > full ? schedule->microbatches : full);
	cool_down(&making, rank);
	return making.err;
}

const struct schedule_kind schedule_zbv = {
	.name = "zbv", .doc = "zero bubble: two stages in a V on each rank, weights' gradients where it would wait",
	.stages_per_rank = 2, .rank_of_stage = rank_of_stage, .compute = compute,
};
