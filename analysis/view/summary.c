/* SPDX-License-Identifier: MIT */
/* analysis_summarise() of analysis/analysis.h. */
#include "analysis/machine/gpu_finding.h"
#include "analysis/model.h"
#include "analysis/steps/numbering.h"
#include "analysis/measure/pace.h"

/* Milliseconds; -1 where nothing is known of steps. */
static double told_ms(const struct analysis *analysis, uint64_t step_ns)
{
	uint32_t clock = analysis->stragglers.clock;
	bool known = step_ns && clock != JOB_NONE && analysis->job.processes[clock]->steps.trust == STEPS_CERTAIN;

	return known ? (double)step_ns / 1e6 : -1;
}

static void add_earlier(const struct lives *lives, struct analysis_summary *summary)
{
	summary->operations += lives->operations;
	summary->untracked += lives->untracked;
	summary->one_sided += lives->one_sided;
	summary->dropped += lives->dropped;
	summary->captured += lives->captured;
	summary->forgotten += lives->forgotten;
	summary->steps += lives->steps;
	summary->communicators += lives->communicators;
}

void analysis_summarise(const struct analysis *analysis, struct analysis_summary *summary)
{
	const struct job *job = &analysis->job;
	const struct pace *pace = &analysis->stragglers.pace;
	*summary = (struct analysis_summary){
		.step = -1,
		.processes = job->process_count,
		.communicators = job->communicators_made,
		.ranks_total = job_world_size(job),
		.step_ms = told_ms(analysis, pace_step_ns(pace, PACE_FEW)),
		.first_step_ms = told_ms(analysis, pace->first_ns),
		.findings_opened = analysis->findings.opened,
		.xids = gpu_finding_xids(analysis),
		.forgotten = analysis->instances.forgotten,
	};
	for (uint32_t i = 0; i < job->process_count; i++) {
		const struct process *process = job->processes[i];
		summary->operations += process->operations;
		summary->untracked += process->untracked;
		summary->one_sided += process->one_sided;
		summary->dropped += process->dropped;
		summary->captured += process->captured_before;
		for (uint32_t k = 0; k < process->membership_count; k++)
			if (process->memberships[k].communicator)
				summary->captured += job_untimed_calls(job_member_of(&process->memberships[k]));
		int64_t steps = numbering_count(process), step = numbering_told(process, process->steps.step);
		if (steps > 0 && (uint64_t)steps > summary->steps)
			summary->steps = (uint64_t)steps;
		if (step > summary->step)
			summary->step = step;
	}
	add_earlier(&analysis->lives, summary);
}
