/* SPDX-License-Identifier: MIT */
#include "analysis/hang/endings.h"

#include <stdlib.h>

#include "analysis/explain/gpu_evidence.h"
#include "analysis/model.h"
#include "analysis/known/ending.h"
#include "analysis/known/process.h"
#include "analysis/report/text.h"
#include "analysis/measure/waiting.h"

/* All that ended with one process, in times of CLOCK_MONOTONIC. */
struct others {
	uint32_t count;
	uint64_t first_sign_ns, last_sign_ns; /* the earliest and latest of their last signs of life */
	uint64_t first_left_ns;
	bool alike; /* what ended one of them may have ended the first, too */
	bool clean; /* one of them came to its own end */
};

static enum ending ending_of(const struct process *process)
{
	return ending_of_status(process->exit_status);
}

static bool was_killed(const struct process *process)
{
	return ending_of(process) == ENDING_KILLED || ending_of(process) == ENDING_CRASHED;
}

static bool are_alike(enum ending one, enum ending other)
{
	return one == other || one == ENDING_UNKNOWN || other == ENDING_UNKNOWN;
}

/* Records come when there is something to record: without a heartbeat their silence says nothing. */
static uint64_t last_sign(const struct process *process)
{
	return process->heartbeat_ns ? process->last_ns : 0;
}

/* Of one that nobody saw end there is no more than its last sign. */
static uint64_t left_by(const struct process *process)
{
	return process->left_ns ? process->left_ns : UINT64_MAX;
}

static bool has_ended(const struct analysis *analysis, const struct process *process)
{
	return process_is_dead(process) && (analysis->post_mortem || process->left_ns);
}

static void look_at_others(const struct job *job, const struct process *first, struct others *others)
{
	*others = (struct others){ .first_sign_ns = UINT64_MAX, .first_left_ns = UINT64_MAX };
	for (uint32_t i = 0; i < job->process_count; i++) {
		const struct process *process = job->processes[i];
		if (process == first || process->generation != first->generation)
			continue;
		others->count++;
		uint64_t sign_ns = last_sign(process);
		if (sign_ns < others->first_sign_ns)
			others->first_sign_ns = sign_ns;
		if (sign_ns > others->last_sign_ns)
			others->last_sign_ns = sign_ns;
		if (left_by(process) < others->first_left_ns)
			others->first_left_ns = left_by(process);
		others->alike |= are_alike(ending_of(first), ending_of(process));
		others->clean |= ending_of(process) == ENDING_CLEAN;
	}
}

/* Whoever kills a whole job does it at one go, or one after the other. One that ended well before all the others ended
 * together was no part of that. */
static bool stands_out(const struct process *first, const struct others *others)
{
	uint64_t gap_ns = others->first_sign_ns - last_sign(first);
	if (ending_of(first) == ENDING_KILLED && gap_ns < ENDING_KILLER_NS)
		return false;
	return others->count > 1 && gap_ns >= ENDING_SPREAD * (others->last_sign_ns - others->first_sign_ns);
}

static bool is_first(const struct process *first, const struct others *others)
{
	uint64_t sign_ns = last_sign(first);
	if (!sign_ns || !others->count || others->clean || others->first_sign_ns <= sign_ns ||
	    others->first_sign_ns - sign_ns > ENDING_TOGETHER_NS)
		return false;
	bool outlived = left_by(first) < others->first_sign_ns; /* they still worked when it was gone */
	bool silent = others->first_sign_ns - sign_ns > ENDING_SILENCE_NS;
	if (others->alike)
		return (outlived || silent) && stands_out(first, others);
	return outlived || silent || left_by(first) < others->first_left_ns;
}

static bool is_part_of(const struct process *process, const struct waiting *waiting,
		       bool (*part)(const struct instance *, uint32_t))
{
	for (size_t i = 0; i < waiting->count; i++) {
		const struct instance *instance = waiting->standings[i].instance;
		for (uint32_t k = 0; k < instance->communicator->member_count; k++)
			if (instance->communicator->members[k].process == process && part(instance, k))
				return true;
	}
	return false;
}

/* All ranks are seen, and their clock is one. */
static bool is_whole(const struct job *job)
{
	return job_world_size(job) == (int32_t)job->rank_count && job->host_count == 1;
}

/* Could this process have been the first by its own fault? Those who wait for somebody give up and abort, too; and when
 * not all ranks are seen, what ended these may have been one of the others. */
static bool may_be_first(const struct analysis *analysis, const struct process *process, const struct waiting *waiting)
{
	enum ending ending = ending_of(process);
	bool whole = is_whole(&analysis->job);
	bool stood = is_part_of(process, waiting, waiting_stands);
	switch (ending) {
	case ENDING_CLEAN:
	case ENDING_ASKED:
		return false;
	case ENDING_CRASHED:
		return true;
	case ENDING_KILLED:
		return whole;
	case ENDING_ABORTED:
	case ENDING_FAILED:
		return whole && !stood;
	case ENDING_UNKNOWN:
		break;
	}
	return whole && !stood && is_part_of(process, waiting, waiting_misses);
}

static bool is_over(const struct analysis *analysis, const struct process *first)
{
	for (uint32_t i = 0; i < analysis->job.process_count; i++) {
		const struct process *process = analysis->job.processes[i];
		if (process->generation == first->generation && !has_ended(analysis, process))
			return false;
	}
	return true;
}

static bool is_latest(const struct analysis *analysis, const struct process *process)
{
	for (uint32_t i = 0; i < analysis->job.process_count; i++)
		if (analysis->job.processes[i]->generation > process->generation)
			return false;
	return true;
}

/* Of the latest generation, that whose last sign is the oldest. NULL: not all of it have ended. */
static const struct process *find_oldest(const struct analysis *analysis)
{
	const struct process *oldest = NULL;
	const struct job *job = &analysis->job;

	for (uint32_t i = 0; i < job->process_count; i++)
		if (!oldest || job->processes[i]->generation > oldest->generation ||
		    (job->processes[i]->generation == oldest->generation &&
		     job->processes[i]->last_ns < oldest->last_ns))
			oldest = job->processes[i];
	return oldest && is_over(analysis, oldest) ? oldest : NULL;
}

static int set_victims(struct record *record, const struct job *job, const struct process *first)
{
	uint32_t *ranks = calloc(job->rank_count + 1, sizeof(*ranks)), count = 0;
	if (!ranks)
		return -1;
	for (uint32_t i = 0; i < job->rank_count; i++)
		if (job->ranks[i].process != first && job->ranks[i].process->generation == first->generation)
			ranks[count++] = i;
	int err = record_set_waiting(record, job, ranks, count);
	free(ranks);
	return err;
}

/* The only one that the OOM killer has killed: no launcher does that, whatever the times say. */
static const struct process *find_out_of_memory(const struct analysis *analysis)
{
	const struct process *found = NULL;
	uint32_t count = 0;
	for (uint32_t i = 0; i < analysis->job.process_count; i++) {
		const struct process *process = analysis->job.processes[i];
		if (!oom_kills_has(&analysis->oom_kills, process))
			continue;
		found = process;
		count++;
	}
	return count == 1 && is_over(analysis, found) && is_latest(analysis, found) ? found : NULL;
}

/* Those of one process: what makes it another than all others. */
struct odd {
	const struct process *killed;  /* alone it did not give up, through exit() or abort(3) */
	const struct process *missing; /* alone it stood in no operation */
	uint32_t not_given_up, not_standing;
};

/* Who ended while others stood in an operation to which it had not come, and then gave up, may have been the first. A
 * launcher may have ended it for being the last, too. Who kills all says nothing. */
static bool look_at_manners(const struct analysis *analysis, const struct waiting *waiting, int32_t generation,
			    struct odd *odd)
{
	const struct job *job = &analysis->job;
	uint32_t count = 0;

	*odd = (struct odd){ 0 };
	for (uint32_t i = 0; i < job->process_count; i++) {
		const struct process *process = job->processes[i];
		enum ending ending = ending_of(process);
		if (process->generation != generation)
			continue;
		if (ending == ENDING_CLEAN || ending == ENDING_ASKED)
			return false;
		count++;
		if (process->life != ANALYSIS_EXITED && ending != ENDING_ABORTED) {
			odd->not_given_up++;
			odd->killed = process;
		}
		if (!is_part_of(process, waiting, waiting_stands)) {
			odd->not_standing++;
			odd->missing = process;
		}
	}
	return count > 2 && odd->not_given_up <= 1 && job_world_size(job) == (int32_t)job->rank_count;
}

static const struct process *find_odd(const struct analysis *analysis, const struct waiting *waiting,
				      int32_t generation)
{
	struct odd odd;

	if (!waiting->count || !look_at_manners(analysis, waiting, generation, &odd))
		return NULL;
	const struct process *found = odd.not_given_up ? odd.killed : odd.not_standing == 1 ? odd.missing : NULL;
	bool missed =
	    found && is_part_of(found, waiting, waiting_misses) && !is_part_of(found, waiting, waiting_stands);

	return missed ? found : NULL;
}

/* What shows that it was the first. */
enum sign {
	SIGN_TIME,
	SIGN_OUT_OF_MEMORY,
	SIGN_KILLED, /* it alone was, while others waited for it */
	SIGN_MISSED, /* all others waited for it, or it alone did not give up */
};

/* before_ms: so long before the others; negative: not known. */
static struct record *make_record(const struct analysis *analysis, const struct process *first, enum sign sign,
				  double before_ms, uint64_t now_ns)
{
	static const char *const missing[] = {
		[SIGN_TIME] = "whether it was the first to end: all have ended, and only their last heartbeats show it",
		[SIGN_OUT_OF_MEMORY] =
		    "whether it was the first to end: only the OOM killer's line in the kernel log shows it",
		[SIGN_KILLED] =
		    "whether it was the first to end: it alone was killed, while others waited for it, and the times "
		    "of the ends do not tell",
		[SIGN_MISSED] =
		    "whether it was the first to end: others waited for it, and the times of the ends "
		    "do not tell",
	};
	const struct job *job = &analysis->job;
	uint32_t rank = 0;
	while (rank < job->rank_count && job->ranks[rank].process != first)
		rank++;
	if (rank == job->rank_count)
		return NULL;
	struct record *record = record_new(job, RW_KIND_GONE, RW_SCOPE_RANK, &rank, 1);
	if (!record)
		return NULL;
	const struct cause cause = { .class_ = RW_CAUSE_GONE, .share = -1, .fd = -1 };
	struct rw_finding *finding = &record->finding;
	record->subject = rank;
	finding->severity = sign == SIGN_MISSED ? RW_WARNING : RW_CRITICAL;
	finding->confidence = sign == SIGN_MISSED ? RW_INCONCLUSIVE : RW_LIKELY;
	finding->arrival = RW_ARRIVAL_NONE;
	finding->first_seen_ns = first->last_ns;
	finding->detect_ms = (double)(now_ns > first->last_ns ? now_ns - first->last_ns : 0) / 1e6;
	record_set_cause(record, &analysis->intern, first, &cause);
	record_add_missing(record, missing[sign]);
	if (set_victims(record, job, first)) {
		record_free(record);
		return NULL;
	}
	oom_kills_explain(analysis, record, first);
	text_ended_first(record, before_ms);
	gpu_evidence_explain_end(analysis, record, rank, first->last_ns);
	return record;
}

/* Something that was found before is what ended the job. */
static bool is_explained(const struct findings *findings, const struct process *first)
{
	for (uint32_t i = 0; i < findings->count; i++) {
		const struct record *record = findings->records[i];
		bool ends = record->finding.severity == RW_CRITICAL || record->finding.kind == RW_KIND_GONE;
		if (record->open && ends && record->finding.first_seen_ns >= first->created_ns)
			return true;
	}
	return false;
}

void endings_tick(struct analysis *analysis, uint64_t now_ns)
{
	const struct process *oldest = find_oldest(analysis), *first = NULL; /* all have ended */
	struct others others;
	struct waiting waiting;
	enum sign sign = SIGN_TIME;

	if (!oldest || is_explained(&analysis->findings, oldest) || waiting_look(&waiting, &analysis->job))
		return;
	look_at_others(&analysis->job, oldest, &others);
	if (is_first(oldest, &others) && may_be_first(analysis, oldest, &waiting))
		first = oldest;
	if (!first) {
		sign = SIGN_OUT_OF_MEMORY;
		first = find_out_of_memory(analysis);
	}
	if (!first) {
		first = find_odd(analysis, &waiting, oldest->generation);
		sign = first && was_killed(first) ? SIGN_KILLED : SIGN_MISSED;
	}
	waiting_free(&waiting);
	if (!first)
		return;
	double before_ms = sign == SIGN_TIME ? (double)(others.first_sign_ns - first->last_ns) / 1e6 : -1;
	struct record *record = make_record(analysis, first, sign, before_ms, now_ns);
	if (record)
		findings_tell(&analysis->findings, record, now_ns);
}
