/* SPDX-License-Identifier: MIT */
#include "analysis/hang/held.h"

#include <stdio.h>

#include "analysis/model.h"

static struct record *make_record(const struct job *job, const struct process *process, uint64_t now_ns)
{
	struct record *record =
	    record_new_absent(job, RW_KIND_BLIND, process->world_rank, process->host_name, process->pid);
	if (!record)
		return NULL;
	const struct held *held = &process->held;
	char cause[96], advice[128];
	double ms = (double)(now_ns - held->since_ns) / 1e6;
	record->subject = process->index;
	record->finding.severity = RW_WARNING;
	record->finding.confidence = RW_CERTAIN;
	record->finding.first_seen_ns = held->since_ns;
	record->finding.detect_ms = ms;
	record->finding.operation.present = false;
	snprintf(cause, sizeof(cause), "%s, called by rankwatch's plugin", held->call);
	snprintf(advice, sizeof(advice), "start the job with %s; please report it with the driver's version",
		 held->remedy);
	record_set_words(record, RW_CAUSE_GPU, cause, advice);
	bool numbered = process->world_rank >= 0;
	if (!numbered) /* its launcher does not say which rank it is: the process is named by its host and number */
		record->finding.rank_count = 0;
	snprintf(record->text, sizeof(record->text),
		 "%s %d is held up by rankwatch itself: its call of %s has not returned for %.0f s",
		 numbered ? "rank" : "process", numbered ? process->world_rank : process->pid, held->call, ms / 1e3);
	return record;
}

void held_tick(struct analysis *analysis, uint64_t now_ns)
{
	for (uint32_t i = 0; i < analysis->job.process_count; i++) {
		const struct process *process = analysis->job.processes[i];
		bool open = findings_open(&analysis->findings, RW_KIND_BLIND, i) != NULL;
		bool lives = process->life == ANALYSIS_ALIVE || process->life == ANALYSIS_STOPPED;
		bool held = process->held.since_ns && lives && now_ns >= process->held.since_ns + HELD_AFTER_NS;
		struct record *record = held && !open ? make_record(&analysis->job, process, now_ns) : NULL;
		if (record)
			findings_tell(&analysis->findings, record, now_ns);
		else if (open && !held)
			findings_close(&analysis->findings, RW_KIND_BLIND, i, now_ns);
	}
}
