/* SPDX-License-Identifier: MIT */
#include "analysis/known/suspension.h"

#include "analysis/known/process.h"

static uint64_t earlier(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
}

static uint64_t later(uint64_t left, uint64_t right)
{
	return left > right ? left : right;
}

/* The box keeps the latest, and so does this. */
static bool add_pause(struct pauses *pauses, uint64_t from_ns, uint64_t until_ns)
{
	for (uint32_t i = 0; i < PAUSES_KEPT; i++)
		if (pauses->latest[i].from_ns == from_ns && pauses->latest[i].until_ns == until_ns)
			return false;
	pauses->latest[pauses->count++ % PAUSES_KEPT] = (struct pause){ from_ns, until_ns };
	return true;
}

/* Was there all the time, or may have been. */
static bool takes_part(const struct process *process, const struct pause *pause)
{
	return process->created_ns < pause->until_ns &&
	       !(process_is_dead(process) && process->last_ns <= pause->from_ns);
}

/* Of a pause what the process had, too; the longest piece of it. */
static struct pause common(const struct pause *pause, const struct pauses *others)
{
	struct pause longest = { 0 };

	for (uint32_t i = 0; i < PAUSES_KEPT; i++) {
		struct pause piece = { later(pause->from_ns, others->latest[i].from_ns),
				       earlier(pause->until_ns, others->latest[i].until_ns) };

		if (piece.until_ns > piece.from_ns &&
		    piece.until_ns - piece.from_ns > longest.until_ns - longest.from_ns)
			longest = piece;
	}
	return longest;
}

static bool is_seen_whole(const struct job *job)
{
	for (uint32_t i = 0; i < job->communicator_count; i++)
		if (job->communicators[i]->member_count && job_unseen(job->communicators[i]))
			return false;
	return true;
}

static struct pause of_all(const struct job *job, struct pause pause)
{
	for (uint32_t i = 0; i < job->process_count && pause.until_ns; i++)
		if (takes_part(job->processes[i], &pause))
			pause = common(&pause, &job->processes[i]->pauses);
	return pause;
}

void suspension_note(struct job *job, struct process *process, const struct rw_box_header *box, uint64_t by_ns)
{
	bool news = false;

	for (int i = 0; i < RW_BOX_PAUSES; i++) {
		uint64_t from_ns = box->pauses[i].from_ns, until_ns = box->pauses[i].until_ns;

		if (from_ns && until_ns > from_ns && until_ns <= by_ns)
			news |= add_pause(&process->pauses, from_ns, until_ns);
	}
	if (!news)
		return;
	job->was_suspended = false;
	for (uint32_t i = 0; i < PAUSES_KEPT; i++) {
		job->suspended[i] = of_all(job, process->pauses.latest[i]);
		job->was_suspended |= job->suspended[i].until_ns != 0;
	}
}

uint64_t suspension_between(const struct job *job, uint64_t from_ns, uint64_t until_ns)
{
	uint64_t sum_ns = 0;

	for (uint32_t i = 0; i < PAUSES_KEPT && job->was_suspended; i++) {
		uint64_t begin_ns = later(from_ns, job->suspended[i].from_ns),
			 end_ns = earlier(until_ns, job->suspended[i].until_ns);

		sum_ns += end_ns > begin_ns ? end_ns - begin_ns : 0;
	}
	return sum_ns && is_seen_whole(job) ? sum_ns : 0;
}
