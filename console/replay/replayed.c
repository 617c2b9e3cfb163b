/* SPDX-License-Identifier: MIT */
#include "console/replay/replayed.h"

const struct rw_box_header *replay_header(const struct replay_process *process)
{
	return &feed_reader(process->feed)->header;
}

const struct replay_machine *replay_machine_of(const struct replay *replay, const struct replay_process *process)
{
	size_t index = (size_t)(process - replay->processes), machine = 0;

	while (machine + 1 < replay->machine_count && index >= replay->machines[machine + 1].first)
		machine++;
	return &replay->machines[machine];
}
