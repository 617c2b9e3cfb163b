/* SPDX-License-Identifier: MIT */
#include "collector/life.h"

static bool is_within(uint64_t since_ns, uint64_t now_ns, uint64_t ms)
{
	return now_ns - since_ns < ms * UINT64_C(1000000);
}

static bool has_work(const struct life_work *work)
{
	return work->boxes || work->saving || work->commands;
}

void life_greet(struct life *life)
{
	life->left = false;
}

bool life_owes_summary(struct life *life, const struct life_work *work, uint64_t now_ns)
{
	if (!work->leaving) {
		life->leaving_ns = 0;
		return false;
	}
	if (!life->leaving_ns)
		life->leaving_ns = now_ns;
	if (work->boxes && is_within(life->leaving_ns, now_ns, LIFE_LEAVE_MS))
		return false;
	/* A launcher's end may be the end of its node's share of the job, and of us. */
	return !(work->saving || work->commands) || !is_within(life->leaving_ns, now_ns, LIFE_SAVE_MS);
}

bool life_part(struct life *life, const struct life_work *work, uint64_t now_ns)
{
	life->left = work->runs == 0;
	if (!life->left || !life->until_idle || has_work(work))
		return false;
	life->ending_ns = now_ns;
	return true;
}

bool life_is_over(struct life *life, const struct life_work *work, uint64_t now_ns)
{
	if (!life->ending_ns && (has_work(work) || work->clients)) {
		life->busy_ns = now_ns;
		return false;
	}
	if (!life->until_idle)
		return false;
	if (life->ending_ns)
		return !work->clients || !is_within(life->ending_ns, now_ns, LIFE_LEAVE_MS);
	return life->left || !is_within(life->busy_ns, now_ns, work->silent ? LIFE_SILENT_MS : LIFE_IDLE_MS);
}
