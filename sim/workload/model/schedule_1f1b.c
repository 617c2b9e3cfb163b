/* SPDX-License-Identifier: MIT */
/* 1F1B (PipeDream-Flush): as many forwards as stages follow, then one forward after each backward. */
#include "sim/workload/model/schedule.h"

static int rank_of_stage(const struct schedule *schedule, int stage)
{
	(void)schedule;
	return stage;
}

static int compute(const struct schedule *schedule, int rank, struct action_list *list)
{
	int forwards = 0, err = 0;

	for (int backwards = 0; backwards < schedule->microbatches && !err; backwards++) {
		while (forwards < schedule->microbatches && forwards < backwards + schedule->ranks - rank && !err)
			err = schedule_append(list, ACTION_F, rank, forwards++);
		if (!err)
			err = schedule_append(list, ACTION_B, rank, backwards);
	}
	return err;
}

const struct schedule_kind schedule_1f1b = {
	.name = "1f1b", .doc = "a forward for each backward once the pipeline is full", .stages_per_rank = 1,
	.rank_of_stage = rank_of_stage, .compute = compute,
};
