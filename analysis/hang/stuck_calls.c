/* SPDX-License-Identifier: MIT */
#include "analysis/hang/stuck_calls.h"

#include <stdlib.h>

#include "analysis/hang/gatherings.h"
#include "analysis/model.h"
#include "analysis/known/process.h"
#include "analysis/report/record.h"
#include "analysis/numbers/sorting.h"
#include "analysis/report/text.h"
#include "analysis/measure/waiting.h"

/* What is needed to tell a wait from work that goes on. */
struct sight {
	const struct job *job;
	struct waiting waiting;
	struct gatherings gatherings;
};

typedef uint64_t since(const struct sight *sight, const struct process *process);

static bool waits_in_operation(const struct sight *sight, const struct process *process)
{
	for (uint32_t i = 0; i < sight->job->rank_count; i++)
		if (sight->job->ranks[i].process == process && sight->waiting.blocked[i])
			return true;
	return false;
}

/* What NCCL still has to do for others is told as the operation that it is. */
static uint64_t in_destroy(const struct sight *sight, const struct process *process)
{
	return waits_in_operation(sight, process) ? 0 : process->destroying_since_ns;
}

/* Where it is known who is missing, that rank is told. */
static uint64_t unless_missing(const struct sight *sight, const struct process *process)
{
	const struct gathering *gathering = gatherings_of(&sight->gatherings, process->init.id);

	return gathering && gathering->missing_count ? 0 : process->init.since_ns;
}

static uint64_t in_grow(const struct sight *sight, const struct process *process)
{
	bool grows = process->init.call == RW_INIT_CALL_GROW || process->init.call == RW_INIT_CALL_JOIN;

	return grows ? unless_missing(sight, process) : 0;
}

static uint64_t in_suspend(const struct sight *sight, const struct process *process)
{
	return process->init.call == RW_INIT_CALL_SUSPEND ? unless_missing(sight, process) : 0;
}

static uint64_t in_resume(const struct sight *sight, const struct process *process)
{
	return process->init.call == RW_INIT_CALL_RESUME ? unless_missing(sight, process) : 0;
}

static uint64_t in_wait_signal(const struct sight *sight, const struct process *process)
{
	uint64_t first_ns = 0;

	(void)sight;
	for (uint32_t i = 0; i < process->membership_count; i++) {
		const struct member *member = job_member_of(&process->memberships[i]);
		uint64_t since_ns = member && !member->ended ? member->signal_since_ns : 0;
		if (since_ns && (!first_ns || since_ns < first_ns))
			first_ns = since_ns;
	}
	return first_ns;
}

static const struct {
	since *since_ns;
	struct text_stuck_call text;
} calls[] = {
	{ in_destroy,
	  { "ncclCommDestroy", "NCCL waits there for its GPU, for a thread of its own, or for graphs captured with it",
	    "destroy graphs captured with it first; else see what NCCL's threads do (gdb -p PID)",
	    "which of them holds the others up, if any does" } },
	{ in_grow,
	  { "ncclCommGrow", "not all ranks have come to it, and only NCCL knows which ranks are to come",
	    "see that each new rank was started and calls ncclCommGrow with the id of ncclCommGetUniqueId",
	    "which ranks are to join: the call does not say that on the ranks that wait" } },
	{ in_suspend,
	  { "ncclCommSuspend", "NCCL waits there for its GPU, then for all ranks of the communicator",
	    "see that each rank of the communicator suspends it, and what its GPU still does",
	    "which rank or GPU holds the others up" } },
	{ in_resume,
	  { "ncclCommResume", "NCCL waits there for all ranks of the communicator",
	    "see that each rank of the communicator resumes it, and has the memory for it",
	    "which rank holds the others up" } },
	{ in_wait_signal,
	  { "ncclWaitSignal", "signals that they wait for have not been sent, or have not arrived",
	    "look at what the ranks that do not wait there do: whoever sends the signals is not recorded",
	    "which rank has not sent its signal: no profiler interface reports one-sided calls" } },
};

enum { CALLS = sizeof(calls) / sizeof(*calls), SUBJECT = 1 << 28 };

/* Those that wait in that call, by their world rank, and since when the last of them does. Returns how many there
 * are. */
static uint32_t find(const struct sight *sight, since *since_ns, int32_t *ranks, uint64_t *last_ns)
{
	uint32_t count = 0;

	*last_ns = 0;
	for (uint32_t i = 0; i < sight->job->process_count; i++) {
		const struct process *process = sight->job->processes[i];
		uint64_t begun_ns =
		    process->life == ANALYSIS_ALIVE && process->world_rank >= 0 ? since_ns(sight, process) : 0;

		if (!begun_ns)
			continue;
		ranks[count++] = process->world_rank;
		*last_ns = begun_ns > *last_ns ? begun_ns : *last_ns;
	}
	sort_i32(ranks, count);
	return count;
}

static void tell(struct analysis *analysis, uint32_t call, const int32_t *ranks, uint32_t count, uint64_t since_ns,
		 uint64_t now_ns)
{
	struct record *record = record_new(&analysis->job, RW_KIND_HANG, RW_SCOPE_JOB, NULL, 0);

	if (!record || record_set_waiting_worlds(record, ranks, count)) {
		record_free(record);
		return;
	}
	record->subject = SUBJECT + call;
	record->finding.severity = RW_WARNING;
	record->finding.confidence = RW_INCONCLUSIVE;
	record->finding.level = RW_LEVEL_SELF;
	record->finding.arrival = RW_ARRIVAL_NONE;
	record->finding.first_seen_ns = since_ns;
	record->finding.detect_ms = record->finding.late.by_ms = (double)(now_ns - since_ns) / 1e6;
	record->finding.late.present = true;
	record->finding.cause.present = true;
	text_stuck_call(record, &calls[call].text);
	findings_tell(&analysis->findings, record, now_ns);
}

static void tick_call(struct analysis *analysis, const struct sight *sight, uint32_t call, int32_t *ranks,
		      uint64_t now_ns)
{
	uint64_t since_ns;
	uint32_t count = find(sight, calls[call].since_ns, ranks, &since_ns);

	if (count && now_ns >= since_ns + STUCK_CALL_AFTER_NS) {
		tell(analysis, call, ranks, count, since_ns, now_ns);
		analysis->stuck_calls_told |= 1u << call;
	} else if (!count && analysis->stuck_calls_told & 1u << call) {
		findings_close(&analysis->findings, RW_KIND_HANG, SUBJECT + call, now_ns);
		analysis->stuck_calls_told &= ~(1u << call);
	}
}

static bool may_be_due(const struct analysis *analysis)
{
	bool any = analysis->stuck_calls_told;

	for (uint32_t i = 0; i < analysis->job.process_count; i++)
		any |= analysis->job.processes[i]->destroying_since_ns ||
		       analysis->job.processes[i]->init.call != RW_INIT_CALL_MAKE ||
		       analysis->job.processes[i]->one_sided;
	return any;
}

void stuck_calls_tick(struct analysis *analysis, uint64_t now_ns)
{
	struct sight sight = { .job = &analysis->job };

	if (!may_be_due(analysis) || waiting_look(&sight.waiting, sight.job))
		return;
	int32_t *ranks = calloc(sight.job->process_count + 1, sizeof(*ranks));
	if (ranks && !gatherings_look(&sight.gatherings, sight.job, false)) {
		for (uint32_t call = 0; call < CALLS; call++)
			tick_call(analysis, &sight, call, ranks, now_ns);
		gatherings_free(&sight.gatherings);
	}
	free(ranks);
	waiting_free(&sight.waiting);
}
