/* SPDX-License-Identifier: MIT */
/* GPipe (Huang et al. 2019): all forwards, then all backwards. */
#include "sim/workload/model/schedule.h"

static int rank_of_stage(const struct schedule *schedule, int stage)
{
	(void)schedule;
	return stage;
}

static int compute(const struct schedule *schedule, int rank, struct action_list *list)
{
	int err = 0;

	for (int i = 0; i < schedule->microbatches && !err; i++)
		err = schedule_append(list, ACTION_F, rank, i);
	for (int i = 0; i < schedule->microbatches && !err; i++)
		err = schedule_append(list, ACTION_B, rank, i);
	return err;
}

const struct schedule_kind schedule_gpipe = {
	.name = "gpipe", .doc = "all forwards, then all backwards", .stages_per_rank = 1,
	.rank_of_stage = rank_of_stage, .compute = compute,
};
