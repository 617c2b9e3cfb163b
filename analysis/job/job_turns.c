/* SPDX-License-Identifier: MIT */
#include "analysis/job/job_turns.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/match/account.h"
#include "analysis/view/turns.h"

static bool has_room(struct job_turns *turns, uint32_t rank)
{
	if (rank < turns->room)
		return true;
	uint32_t room = rank + rank / 2 + 16;
	struct job_turns_rank *ranks = realloc(turns->ranks, room * sizeof(*ranks));
	if (!ranks)
		return false;
	memset(ranks + turns->room, 0, (room - turns->room) * sizeof(*ranks));
	turns->ranks = ranks;
	turns->room = room;
	return true;
}

void job_turns_note(struct job_turns *turns, const struct job_turns_row *row)
{
	turns->all_ns += row->lasted_us * 1e3;
	if (row->beyond_ms * 1e6 < ACCOUNT_TOLD_NS || !has_room(turns, row->rank))
		return;
	struct job_turns_rank *rank = &turns->ranks[row->rank];

	rank->times++;
	rank->waits_ns += (uint64_t)(row->beyond_ms * 1e6) * row->others;
	rank->host_us += row->host_us;
	rank->device_us += row->device_us;
}

static uint32_t find_turns(const struct job_turns *turns, struct turn *found)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < turns->room; i++)
		if (turns->ranks[i].times)
			found[count++] = (struct turn){ i, turns->ranks[i].times, turns->ranks[i].waits_ns };
	return count;
}

static enum rw_late_kind late_by(const struct job_turns *turns)
{
	double host_us = 0, device_us = 0;

	for (uint32_t i = 0; i < turns->room; i++) {
		host_us += turns->ranks[i].host_us;
		device_us += turns->ranks[i].device_us;
	}
	return host_us <= 0 && device_us <= 0 ? RW_LATE_NONE : host_us >= device_us ? RW_LATE_HOST : RW_LATE_DEVICE;
}

void job_turns_tell(const struct job_turns *turns, uint32_t ranks, struct analysis_turns *told)
{
	struct turn *found = calloc(turns->room + 1, sizeof(*found));
	uint32_t count = found && turns->steps >= ACCOUNT_STEPS_MIN ? find_turns(turns, found) : 0;

	if (turns_go_round(found, count, ranks, turns->all_ns, told)) {
		told->at_least = true;
		told->of_steps = turns->steps;
		told->by = late_by(turns);
		for (uint32_t i = 0; i < count && i < ANALYSIS_TURNS; i++) {
			told->ranks[i].rank = (int32_t)found[i].rank;
			told->ranks[i].times = found[i].times;
		}
	}
	free(found);
}

void job_turns_free(struct job_turns *turns)
{
	free(turns->ranks);
	*turns = (struct job_turns){ 0 };
}
