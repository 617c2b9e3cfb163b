/* SPDX-License-Identifier: MIT */
#include "analysis/analysis.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/match/completion.h"
#include "analysis/hang/desync.h"
#include "analysis/hang/endings.h"
#include "analysis/expiry.h"
#include "analysis/measure/flights.h"
#include "analysis/machine/gpu_finding.h"
#include "analysis/view/gpu_memory.h"
#include "analysis/hang/held.h"
#include "analysis/match/intake.h"
#include "analysis/model.h"
#include "analysis/steps/numbering.h"
#include "analysis/hang/pair.h"
#include "analysis/measure/pipeline_loss.h"
#include "analysis/known/process.h"
#include "analysis/known/suspension.h"
#include "analysis/measure/step_course.h"
#include "analysis/hang/stuck_calls.h"
#include "analysis/match/value_judging.h"
#include "analysis/hang/version_finding.h"
#include "analysis/view/view.h"

#define SILENT_NS UINT64_C(500000000) /* a box's heart beats every 20 ms at least while its process has a processor */

struct analysis *analysis_new(bool post_mortem, analysis_emit *emit, void *argument)
{
	struct analysis *analysis = calloc(1, sizeof(*analysis));
	if (!analysis)
		return NULL;
	analysis->post_mortem = post_mortem;
	analysis->findings.emit = emit;
	analysis->findings.argument = argument;
	lives_set_up(analysis);
	if (post_mortem)
		analysis_keep_cells(analysis);
	return analysis;
}

void analysis_free(struct analysis *analysis)
{
	if (!analysis)
		return;
	lives_release(analysis);
	free(analysis);
}

void analysis_watch_time(struct analysis *analysis, analysis_time_visit *visit, void *argument)
{
	analysis->account.visit = visit;
	analysis->account.visit_argument = argument;
}

int analysis_add_process(struct analysis *analysis, const struct analysis_process *process)
{
	if (lives_is_next(analysis, process))
		lives_begin_next(analysis);
	return job_add_process(&analysis->job, process);
}

int analysis_set_box(struct analysis *analysis, analysis_process_id id, const struct rw_box_header *box)
{
	struct process *process = job_process(&analysis->job, id);
	if (!process)
		return -EINVAL;
	process_read_nccl(process, box);
	return 0;
}

int analysis_set_scanning(struct analysis *analysis, analysis_process_id id, const struct analysis_scanning *scanning)
{
	struct process *process = job_process(&analysis->job, id);
	if (!process)
		return -EINVAL;
	process->scanning = *scanning;
	return 0;
}

int analysis_set_signals(struct analysis *analysis, analysis_process_id id, uint32_t index,
			 const struct rw_gpu_progress *page)
{
	struct process *process = job_process(&analysis->job, id);
	if (process && job_was_left(process, index))
		return 0;
	if (!process || index >= process->membership_count || !process->memberships[index].communicator)
		return -EINVAL;
	struct member *member = job_member_of(&process->memberships[index]);
	bool waits = page->signalled < page->signal_waits && page->signal_since_ns > member->created_ns;
	member->signal_since_ns = waits ? page->signal_since_ns : 0;
	return 0;
}

int analysis_set_gaps(struct analysis *analysis, analysis_process_id id, const struct rw_box_header *box)
{
	struct process *process = job_process(&analysis->job, id);
	if (!process)
		return -EINVAL;
	process_read_gaps(process, box);
	return 0;
}

int analysis_set_interruptions(struct analysis *analysis, analysis_process_id id, const struct rw_box_header *box,
			       uint64_t until_ns)
{
	struct process *process = job_process(&analysis->job, id);
	if (!process)
		return -EINVAL;
	process_read_mask(process, box, until_ns);
	if (process->mask_ns && (!analysis->job.masked_ns || process->mask_ns < analysis->job.masked_ns))
		analysis->job.masked_ns = process->mask_ns;
	suspension_note(&analysis->job, process, box, until_ns);
	return 0;
}

int analysis_add_communicator(struct analysis *analysis, analysis_process_id id, uint32_t index,
			      const struct rw_communicator *communicator)
{
	struct process *process = job_process(&analysis->job, id);
	return process ? job_add_communicator(&analysis->job, process, index, communicator) : -EINVAL;
}

int analysis_add_operation(struct analysis *analysis, analysis_process_id id, const struct rw_operation *slot)
{
	struct job *job = &analysis->job;
	/* A process's operations come many in a row. */
	if (!job->reading || job->reading->id != id)
		job->reading = job_process(job, id);
	return job->reading ? intake_operation(analysis, job->reading, slot) : -EINVAL;
}

int analysis_add_progress(struct analysis *analysis, analysis_process_id id, uint32_t index, uint64_t gpu_started,
			  uint64_t gpu_done, uint64_t now_ns)
{
	struct process *process = job_process(&analysis->job, id);
	if (process && job_was_left(process, index))
		return 0;
	if (!process || index >= process->membership_count || !process->memberships[index].communicator)
		return -EINVAL;
	const struct membership *membership = &process->memberships[index];
	struct member *member = &membership->communicator->members[membership->member];
	/* The words carry no time of their own. */
	if ((member->gpu_started != gpu_started || member->gpu_done != gpu_done) && now_ns > process->gpu_moved_ns)
		process->gpu_moved_ns = now_ns;
	member->gpu_started = gpu_started;
	member->gpu_done = gpu_done;
	return 0;
}

/* Of the job, or of a rank that others wait for before it has a box. */
static struct process *seen_process(struct analysis *analysis, analysis_process_id id)
{
	return id >= ANALYSIS_ABSENT_PROCESS ? inits_process(&analysis->inits, id) : job_process(&analysis->job, id);
}

int analysis_add_wait(struct analysis *analysis, const struct analysis_wait *wait)
{
	struct process *process = seen_process(analysis, wait->process);
	if (!process || wait->end_ns < wait->start_ns || wait->level > RW_LEVEL_EBPF)
		return -EINVAL;
	if (wait->end_ns > process->last_ns)
		process->last_ns = wait->end_ns;
	return evidence_add(&process->evidence, &analysis->intern, wait);
}

void analysis_add_loss(struct analysis *analysis, uint64_t from_ns, uint64_t to_ns, uint64_t count)
{
	losses_add(&analysis->losses, from_ns, to_ns, count);
}

int analysis_add_network(struct analysis *analysis, const struct analysis_network *network)
{
	const struct process *process = job_process(&analysis->job, network->process);
	if (process && job_was_left(process, network->index))
		return 0;
	if (!process || network->index >= process->membership_count ||
	    !process->memberships[network->index].communicator || network->to_ns < network->from_ns)
		return -EINVAL;
	const struct membership *membership = &process->memberships[network->index];
	return transfer_add_network(&analysis->transfers, membership->communicator, membership->member, network);
}

int analysis_set_life(struct analysis *analysis, analysis_process_id id, enum analysis_life life, int exit_status,
		      uint64_t at_ns)
{
	struct process *process = job_process(&analysis->job, id);
	if (!process)
		return -EINVAL;
	if (process->life != life)
		process->life_ns = at_ns;
	process->life = life;
	if (exit_status >= 0)
		process->exit_status = exit_status;
	return 0;
}

int analysis_set_heartbeat(struct analysis *analysis, analysis_process_id id, uint64_t at_ns)
{
	struct process *process = job_process(&analysis->job, id);
	if (!process)
		return -EINVAL;
	process->heartbeat_ns = at_ns;
	if (at_ns > process->last_ns)
		process->last_ns = at_ns;
	return 0;
}

bool analysis_is_silent(const struct analysis *analysis, analysis_process_id id, uint64_t now_ns)
{
	const struct process *process = job_process(&analysis->job, id);
	return process && process->heartbeat_ns && now_ns > process->heartbeat_ns + SILENT_NS;
}

int analysis_set_left(struct analysis *analysis, analysis_process_id id, uint64_t by_ns)
{
	struct process *process = job_process(&analysis->job, id);
	if (!process || !by_ns)
		return -EINVAL;
	process->left_ns = by_ns;
	return 0;
}

int analysis_set_held(struct analysis *analysis, analysis_process_id id, const char *call, const char *remedy,
		      uint64_t since_ns)
{
	struct process *process = job_process(&analysis->job, id);
	if (!process)
		return -EINVAL;
	process->held = (struct held){ .remedy = remedy, .since_ns = call ? since_ns : 0 };
	snprintf(process->held.call, sizeof(process->held.call), "%s", call ? call : "");
	return 0;
}

int analysis_add_python(struct analysis *analysis, const struct analysis_python *seen)
{
	struct process *process = seen_process(analysis, seen->process);
	return process ? python_looks_add(&process->python, &analysis->intern, seen) : -EINVAL;
}

int analysis_add_other(struct analysis *analysis, const struct analysis_other *seen)
{
	struct process *process = seen_process(analysis, seen->process);
	return process ? other_looks_add(&process->others, &analysis->intern, seen) : -EINVAL;
}

int analysis_add_children(struct analysis *analysis, const struct analysis_children *seen)
{
	struct process *process = seen_process(analysis, seen->process);
	return process && seen->at_ns > seen->from_ns ? children_add(&process->children, &analysis->intern, seen)
						      : -EINVAL;
}

int analysis_set_init(struct analysis *analysis, analysis_process_id id, const struct rw_init *init)
{
	struct process *process = job_process(&analysis->job, id);
	if (!process || (init->since_ns && (init->nranks < 2 || init->rank < 0 || init->rank >= init->nranks)))
		return -EINVAL;
	bool ends = init->call == RW_INIT_CALL_DESTROY;
	process->init = ends ? (struct rw_init){ 0 } : *init;
	process->destroying_since_ns = ends ? init->since_ns : 0;
	return 0;
}

void analysis_set_absentee(struct analysis *analysis, const struct analysis_absentee *absentee, uint64_t now_ns)
{
	inits_note(&analysis->inits, absentee, now_ns);
}

size_t analysis_absentees(const struct analysis *analysis, int32_t *world_ranks, size_t room)
{
	return inits_missing(analysis, world_ranks, room);
}

size_t analysis_init_missing(const struct analysis *analysis, uint64_t id, int32_t *world_ranks, size_t room)
{
	return inits_missing_in(&analysis->job, id, world_ranks, room);
}

void analysis_report_inits(struct analysis *analysis, uint64_t now_ns)
{
	inits_tick(analysis, now_ns, true);
}

int analysis_add_gpu_state(struct analysis *analysis, const struct analysis_gpu_state *state)
{
	return gpus_add_state(&analysis->gpus, state);
}

int analysis_add_gpu_event(struct analysis *analysis, const struct analysis_gpu_event *event)
{
	return gpus_add_event(&analysis->gpus, event);
}

int analysis_add_port_state(struct analysis *analysis, const struct analysis_port_state *state)
{
	return ports_add_state(&analysis->ports, state);
}

void analysis_add_oom_kill(struct analysis *analysis, int32_t pid, uint64_t at_ns)
{
	oom_kills_note(&analysis->oom_kills, pid, at_ns);
}

int analysis_add_memory_state(struct analysis *analysis, const struct analysis_memory_state *state)
{
	struct process *process = job_process(&analysis->job, state->process);

	return process && state->limit && state->group ? memory_limit_note(&analysis->memory, process, state) : -EINVAL;
}

void analysis_set_gpu_silence(struct analysis *analysis, uint64_t since_ns)
{
	analysis->gpus.in_call_since_ns = since_ns;
}

static bool is_over(const struct job *job)
{
	for (uint32_t i = 0; i < job->process_count; i++)
		if (job->processes[i]->life == ANALYSIS_ALIVE || job->processes[i]->life == ANALYSIS_STOPPED)
			return false;
	return true;
}

void analysis_resume(struct analysis *analysis, uint64_t now_ns)
{
	analysis->job.resumed_ns = now_ns;
}

void analysis_tick(struct analysis *analysis, uint64_t now_ns)
{
	if (!analysis->first_tick_ns)
		analysis->first_tick_ns = now_ns;
	analysis->now_ns = now_ns;
	bool over = is_over(&analysis->job);
	completion_sweep(analysis);
	account_tick(analysis, over, now_ns);
	desync_tick(analysis, now_ns); /* before what would take its consequences for lateness */
	pair_tick(analysis, now_ns);
	straggler_tick(analysis, now_ns);
	rows_tick(analysis, now_ns);
	transfer_tick(analysis, now_ns);
	hang_tick(analysis, now_ns);
	inits_tick(analysis, now_ns, !analysis->post_mortem);
	stuck_calls_tick(analysis, now_ns);
	held_tick(analysis, now_ns);
	gpu_finding_tick(analysis, now_ns);
	memory_limit_tick(analysis, now_ns);
	if (analysis->values.seen) {
		value_judging_tick(analysis, over, now_ns);
		origin_tick(analysis, over, now_ns);
	}
	version_finding_tick(analysis, now_ns);
	endings_tick(analysis, now_ns); /* behind the rest: what another found explains the end */
	findings_tick(&analysis->findings, now_ns);
	expiry_tick(analysis, now_ns);
}

size_t analysis_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room)
{
	size_t count = hang_suspects(analysis, suspects, room), kept = count < room ? count : room;
	return count + inits_suspects(analysis, suspects ? suspects + kept : NULL, room - kept);
}

size_t analysis_wanted_details(const struct analysis *analysis, struct analysis_detail *details, size_t room)
{
	return transfer_wanted_details(analysis, details, room);
}

void analysis_visit_flights(const struct analysis *analysis, analysis_flight_visit *visit, void *argument)
{
	flights_visit(analysis, visit, argument);
}

void analysis_tell_account(const struct analysis *analysis, struct analysis_account *told)
{
	account_tell(analysis, told);
}

void analysis_tell_pipeline(const struct analysis *analysis, struct analysis_pipeline *told)
{
	pipeline_loss_tell(analysis, told);
}

void analysis_tell_gpu_memory(const struct analysis *analysis, struct analysis_gpu_memory *told)
{
	gpu_memory_tell(analysis, told);
}

void analysis_tell_step_course(const struct analysis *analysis, struct analysis_step_course *told)
{
	step_course_tell(analysis, told);
}

void analysis_tell_pace(const struct analysis *analysis, struct analysis_pace *told)
{
	pace_course_tell(analysis, told);
}

void analysis_replay_open(struct analysis *analysis)
{
	findings_replay_open(&analysis->findings, analysis->now_ns);
}
