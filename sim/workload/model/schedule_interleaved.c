/* SPDX-License-Identifier: MIT */
/*
 * Interleaved 1F1B (Narayanan et al. 2021): each rank has several stages, `ranks` apart; micro-batches go through them
 * in rounds of as many as there are ranks.
 */
#include <errno.h>

#include "sim/workload/model/schedule.h"

static int rank_of_stage(const struct schedule *schedule, int stage)
{
	return stage % schedule->ranks;
}

/* The n-th forward (or backward, whose stages come in reverse) of a rank. */
static int append(const struct schedule *schedule, int rank, struct action_list *list, enum action_kind kind, int n)
{
	int per_turn = schedule->ranks * schedule->stages_per_rank;
	int chunk = n % per_turn / schedule->ranks;
	int microbatch = n / per_turn * schedule->ranks + n % schedule->ranks;

	if (kind == ACTION_B)
		chunk = schedule->stages_per_rank - 1 - chunk;
	return schedule_append(list, kind, chunk * schedule->ranks + rank, microbatch);
}

static int compute(const struct schedule *schedule, int rank, struct action_list *list)
{
	int total = schedule->microbatches * schedule->stages_per_rank, err = 0;
	int warm_up = (schedule->stages_per_rank - 1) * schedule->ranks + 2 * (schedule->ranks - 1 - rank);

	if (schedule->microbatches % schedule->ranks)
		return -EINVAL;
	if (warm_up > total)
		warm_up = total;
	for (int i = 0; i < warm_up && !err; i++)
		err = append(schedule, rank, list, ACTION_F, i);
	for (int i = 0; i < total && !err; i++) {
		if (warm_up + i < total)
			err = append(schedule, rank, list, ACTION_F, warm_up + i);
		if (!err)
			err = append(schedule, rank, list, ACTION_B, i);
	}
	return err;
}

const struct schedule_kind schedule_interleaved = {
	.name = "interleaved", .doc = "1f1b with several stages on each rank", .stages_per_rank = 2,
	.more_stages = true, .rank_of_stage = rank_of_stage, .compute = compute,
};
