/* SPDX-License-Identifier: MIT */
#include "analysis/lives.h"

#include "analysis/model.h"
#include "analysis/known/process.h"
#include "analysis/view/view.h"

void lives_set_up(struct analysis *analysis)
{
	analysis->stragglers.clock = JOB_NONE;
	analysis->rows.job = &analysis->job;
	analysis->rows.judge.mostly = true;
	analysis->account.rows = &analysis->rows;
	analysis->findings.job = &analysis->job;
}

/* What belongs to processes. */
static void release_life(struct analysis *analysis)
{
	findings_free(&analysis->findings);
	stragglers_free(&analysis->stragglers);
	account_free(&analysis->account);
	cells_free(&analysis->cells);
	rows_free(&analysis->rows);
	transfers_free(&analysis->transfers);
	memory_limit_free(&analysis->memory);
	values_free(&analysis->values);
	last_bad_free(&analysis->origin.last_bad);
	drifts_free(&analysis->drifts);
	inits_free(&analysis->inits);
	instances_free(&analysis->instances);
	job_free(&analysis->job);
	intern_free(&analysis->intern);
}

void lives_release(struct analysis *analysis)
{
	release_life(analysis);
	gpus_free(&analysis->gpus);
	ports_free(&analysis->ports);
}

bool lives_is_next(const struct analysis *analysis, const struct analysis_process *process)
{
	const struct job *job = &analysis->job;
	bool again = false;

	if (analysis->post_mortem || !process->box || process->box->world_rank < 0)
		return false;
	for (uint32_t i = 0; i < job->process_count; i++) {
		if (!process_is_dead(job->processes[i]))
			return false;
		again |= job->processes[i]->world_rank == process->box->world_rank;
	}
	return again;
}

static struct lives sum_of(const struct analysis *analysis)
{
	struct analysis_summary summary;

	analysis_summarise(analysis, &summary);
	return (struct lives){
		.operations = summary.operations,
		.untracked = summary.untracked,
		.one_sided = summary.one_sided,
		.dropped = summary.dropped,
		.captured = summary.captured,
		.forgotten = summary.forgotten,
		.steps = summary.steps,
		.communicators = summary.communicators,
	};
}

void lives_begin_next(struct analysis *analysis)
{
	findings_close_all(&analysis->findings, analysis->now_ns);
	struct analysis next = {
		.now_ns = analysis->now_ns,
		.first_tick_ns = analysis->first_tick_ns,
		.lives = sum_of(analysis),
		.gpus = analysis->gpus,
		.ports = analysis->ports,
		.losses = analysis->losses,
		.findings = { .opened = analysis->findings.opened,
			      .emit = analysis->findings.emit,
			      .argument = analysis->findings.argument },
	};
	bool cells = analysis->cells.limit != 0;
	uint64_t changes = analysis->cells.changes;
	analysis_time_visit *visit = analysis->account.visit;
	void *argument = analysis->account.visit_argument;
	account_visit_passage *visit_passage = analysis->account.visit_passage;
	void *passage_argument = analysis->account.passage_argument;
	values_visit *visit_values = analysis->values.visit;
	void *values_argument = analysis->values.visit_argument;

	release_life(analysis);
	*analysis = next;
	lives_set_up(analysis);
	analysis->account.visit = visit;
	analysis->account.visit_argument = argument;
	analysis->account.visit_passage = visit_passage;
	analysis->account.passage_argument = passage_argument;
	analysis->values.visit = visit_values;
	analysis->values.visit_argument = values_argument;
	if (!cells)
		return;
	analysis_keep_cells(analysis);
	analysis->cells.changes = changes + 1;
}
