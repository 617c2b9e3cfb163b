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

/* Could this process have been the first by its own fault? Those who wait for somebody give up and abort, too; and when
 * not all ranks are seen, what ended these may have been one of the others. */
static bool may_be_first(const struct analysis *analysis, const struct process *process, const struct waiting *waiting)
{
	enum ending ending = ending_of(process);
	bool whole = job_world_size(&analysis->job) == (int32_t)analysis->job.rank_count && analysis->job.host_count == 1;
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

static const struct process *find_first(const struct analysis *analysis, struct others *others)
{
	const struct process *first = NULL;
	const struct job *job = &analysis->job;
	for (uint32_t i = 0; i < job->process_count; i++)
		if (!first || job->processes[i]->generation > first->generation ||
		    (job->processes[i]->generation == first->generation && job->processes[i]->last_ns < first->last_ns))
			first = job->processes[i];
	if (!first || !is_over(analysis, first))
		return NULL;
	look_at_others(job, first, others);
	return is_first(first, others) ? first : NULL;
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

/* before_ms < 0: times do not tell. */
static struct record *make_record(const struct analysis *analysis, const struct process *first, double before_ms,
				  uint64_t now_ns)
{
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
	finding->severity = RW_CRITICAL;
	finding->confidence = RW_LIKELY;
	finding->arrival = RW_ARRIVAL_NONE;
	finding->first_seen_ns = first->last_ns;
	finding->detect_ms = (double)(now_ns > first->last_ns ? now_ns - first->last_ns : 0) / 1e6;
	record_set_cause(record, &analysis->intern, first, &cause);
	record_add_missing(
	    record, before_ms < 0
			? "whether it was the first to end: only the OOM killer's line in the kernel log shows it"
			: "whether it was the first to end: all have ended, and only their last heartbeats show it");
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
		if (record->open && record->finding.severity == RW_CRITICAL &&
		    record->finding.first_seen_ns >= first->created_ns)
			return true;
	}
	return false;
}

void endings_tick(struct analysis *analysis, uint64_t now_ns)
{
	struct others others;
	struct waiting waiting;
	const struct process *first = find_first(analysis, &others);
	double before_ms = -1;
	if (first && !waiting_look(&waiting, &analysis->job)) {
		if (may_be_first(analysis, first, &waiting))
			before_ms = (double)(others.first_sign_ns - first->last_ns) / 1e6;
		waiting_free(&waiting);
	}
	if (before_ms < 0)
		first = find_out_of_memory(analysis);
	if (!first || is_explained(&analysis->findings, first))
		return;
	struct record *record = make_record(analysis, first, before_ms, now_ns);
	if (record)
		findings_tell(&analysis->findings, record, now_ns);
}
