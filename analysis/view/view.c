/* SPDX-License-Identifier: MIT */
#include "analysis/view/view.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/explain/blocked.h"
#include "analysis/measure/flights.h"
#include "analysis/model.h"
#include "analysis/report/naming.h"
#include "analysis/steps/numbering.h"
#include "analysis/known/process.h"
#include "analysis/host/system_calls.h"
#include "analysis/known/trace.h"
#include "analysis/measure/waiting.h"

enum { LOOK_AHEAD = 64, /* unfinished instances of a communicator: what a rank stands in is among the oldest */
       PIECES = 512     /* of evidence: threads that were seen lately are among the newest */ };

/* The operation that says what a rank does. */
struct doing {
	enum analysis_doing doing;
	const struct instance *instance;
	uint64_t since_ns;
};

struct look {
	const struct analysis *analysis;
	struct waiting waiting;
	struct doing *ranks;
};

static void note(struct doing *known, enum analysis_doing doing, const struct instance *instance, uint64_t since_ns)
{
	if (known->doing && (known->doing < doing || (known->doing == doing && known->since_ns <= since_ns)))
		return;
	*known = (struct doing){ doing, instance, since_ns };
}

static void note_standing(struct look *look, const struct standing *standing)
{
	const struct communicator *communicator = standing->instance->communicator;

	if (!standing->missing)
		return;
	for (uint32_t i = 0; i < communicator->member_count; i++) {
		struct doing *known = &look->ranks[communicator->members[i].rank];
		if (waiting_is_root(&look->waiting, standing, i))
			note(known, ANALYSIS_DOING_MISSING, standing->instance, standing->since_ns);
		else if (waiting_stands(standing->instance, i))
			note(known, ANALYSIS_DOING_WAITS, standing->instance,
			     standing->instance->operations[i].arrival_ns);
	}
}

static void note_flights(struct look *look, const struct communicator *communicator)
{
	const struct instance *at = communicator->unfinished_first;

	for (uint32_t n = 0; at && n < LOOK_AHEAD; n++, at = at->next)
		for (uint32_t i = 0; i < communicator->member_count; i++) {
			uint16_t state = flight_state(at, i);
			if (!state || state & OPERATION_DONE)
				continue;
			const struct operation *operation = &at->operations[i];
			uint64_t since_ns = state & OPERATION_STARTED && operation->arrival_ns ? operation->arrival_ns
					    : operation->launch_ns                             ? operation->launch_ns
											       : operation->api_ns;
			note(&look->ranks[communicator->members[i].rank], ANALYSIS_DOING_INSIDE, at, since_ns);
		}
}

/* 0 or -ENOMEM; close in both cases. */
static bool look_open(struct look *look, const struct analysis *analysis)
{
	const struct job *job = &analysis->job;

	*look = (struct look){ .analysis = analysis, .ranks = calloc(job->rank_count + 1, sizeof(*look->ranks)) };
	if (!look->ranks || waiting_look(&look->waiting, job))
		return false;
	for (size_t i = 0; i < look->waiting.count; i++)
		note_standing(look, &look->waiting.standings[i]);
	for (uint32_t i = 0; i < job->communicator_count; i++)
		note_flights(look, job->communicators[i]);
	return true;
}

static void look_close(struct look *look)
{
	waiting_free(&look->waiting);
	free(look->ranks);
}

static struct doing doing_of(const struct look *look, uint32_t index)
{
	const struct process *process = look->analysis->job.ranks[index].process;
	struct doing doing = look->ranks[index];

	if (process_is_dead(process))
		return (struct doing){ ANALYSIS_DOING_GONE, doing.instance, process->life_ns };
	if (process->life == ANALYSIS_STOPPED)
		return (struct doing){ ANALYSIS_DOING_STOPPED, doing.instance, process->life_ns };
	if (process->init.since_ns)
		return (struct doing){ ANALYSIS_DOING_INIT, NULL, process->init.since_ns };
	if (!doing.doing && process->operations)
		doing.doing = ANALYSIS_DOING_WORKS;
	return doing;
}

static const char *call_name(int32_t number)
{
	const struct system_call *call = number >= 0 ? system_call_find(number) : NULL;
	return call ? call->name : "";
}

/* Of the thread that enqueues; what others do is seen in the view of one rank. */
static void add_thread(const struct analysis *analysis, const struct process *process, struct analysis_rank_view *view)
{
	uint64_t kept = evidence_kept(&process->evidence);

	view->thread = view->system_call = view->path = "";
	for (uint64_t age = 0; age < kept && age < PIECES; age++) {
		const struct evidence_piece *piece = evidence_at(&process->evidence, age);
		if (piece->tid != process->enqueue_tid)
			continue;
		view->thread = intern_text(&analysis->intern, piece->thread);
		view->system_call = call_name(piece->system_call);
		view->path = intern_text(&analysis->intern, piece->path);
		view->seen_ns = piece->end_ns;
		return;
	}
}

static void add_gpu(const struct analysis *analysis, const struct rank *rank, struct analysis_rank_view *view)
{
	const struct gpu *gpu = gpus_of_rank(&analysis->gpus, rank);
	const struct gpu_xid *xid = gpu ? gpu_xid_at(gpu, 0) : NULL;

	view->gpu = gpu && gpu->is_read ? &gpu->now : NULL;
	view->xid = xid ? xid->number : 0;
}

static uint64_t clean_scans(const struct process *process, uint32_t rank)
{
	uint64_t clean = 0;

	for (uint32_t i = 0; i < process->membership_count; i++) {
		const struct member *member = job_member_of(&process->memberships[i]);
		clean += member && member->rank == rank ? member->clean_scans : 0;
	}
	return clean;
}

static void view_rank(const struct look *look, uint32_t index, struct analysis_rank_view *view)
{
	const struct analysis *analysis = look->analysis;
	const struct rank *rank = &analysis->job.ranks[index];
	const struct process *process = rank->process;
	const struct account *account = &analysis->account;
	struct doing doing = doing_of(look, index);

	*view = (struct analysis_rank_view){
		.rank = rank->world,
		.host = process->host_name,
		.pid = process->pid,
		.life = process->life,
		.exit_status = process->exit_status,
		.step = process->steps.step ? numbering_told(process, process->steps.step) : -1,
		.operations = process->operations,
		.bytes = process->bytes,
		.scanning = process->scanning,
		.clean_scans = clean_scans(process, index),
		.doing = doing.doing,
		.since_ns = doing.since_ns,
	};
	if (index < account->rank_count) {
		view->parts = account->ranks[index].whole.parts;
		view->lost_ns = account->ranks[index].waited_ns;
	}
	if (doing.instance) {
		naming_communicator(view->comm_name, sizeof(view->comm_name), &analysis->job,
				    doing.instance->communicator);
		view->function = doing.instance->function;
		view->sequence = doing.instance->sequence;
	}
	add_thread(analysis, process, view);
	add_gpu(analysis, rank, view);
}

void analysis_visit_ranks(const struct analysis *analysis, analysis_rank_visit *visit, void *argument)
{
	struct analysis_rank_view view;
	struct look look;

	if (look_open(&look, analysis))
		for (uint32_t i = 0; i < analysis->job.rank_count; i++) {
			view_rank(&look, i, &view);
			visit(argument, &view);
		}
	look_close(&look);
}

static void view_communicator(const struct analysis *analysis, const struct communicator *communicator,
			      analysis_communicator_visit *visit, void *argument)
{
	uint32_t count = communicator->member_count;
	int32_t *ranks = calloc(count + 1, sizeof(*ranks));
	uint64_t *calls = calloc(count + 1, sizeof(*calls));
	bool *captured = calloc(count + 1, sizeof(*captured));
	char name[96];
	struct analysis_communicator_view view = {
		.id = communicator->id,
		.name = naming_communicator(name, sizeof(name), &analysis->job, communicator),
		.size = communicator->size,
		.member_count = count,
		.ranks = ranks,
		.calls = calls,
		.captured = captured,
	};

	for (uint32_t i = 0; ranks && calls && captured && i < count; i++) {
		const struct member *member = &communicator->members[i];
		ranks[i] = job_member_rank(&analysis->job, member)->world;
		calls[i] = member->announced;
		captured[i] = member->captured;
	}
	if (ranks && calls && captured)
		visit(argument, &view);
	free(ranks);
	free(calls);
	free(captured);
}

void analysis_visit_communicators(const struct analysis *analysis, analysis_communicator_visit *visit, void *argument)
{
	for (uint32_t i = 0; i < analysis->job.communicator_count; i++)
		if (!analysis->job.communicators[i]->ended_ns)
			view_communicator(analysis, analysis->job.communicators[i], visit, argument);
}

static uint64_t earliest(uint64_t one_ns, uint64_t other_ns)
{
	return !one_ns || (other_ns && other_ns < one_ns) ? other_ns : one_ns;
}

void analysis_tell_deadline(const struct analysis *analysis, struct analysis_deadline *deadline)
{
	const struct job *job = &analysis->job;
	bool born = false;

	*deadline = (struct analysis_deadline){ .from = "" };
	for (uint32_t i = 0; i < job->communicator_count; i++) {
		const struct instance *at = job->communicators[i]->unfinished_first;
		for (uint32_t n = 0; at && n < LOOK_AHEAD; n++, at = at->next)
			if (flight_is_open(at))
				deadline->since_ns = earliest(deadline->since_ns, at->created_ns);
	}
	for (uint32_t i = 0; i < job->process_count; i++) {
		born |= job->processes[i]->init.since_ns != 0;
		deadline->since_ns = earliest(deadline->since_ns, job->processes[i]->init.since_ns);
	}
	if (!job->process_count)
		return;
	const struct process *process = job->processes[0];
	bool first = born || !analysis->stragglers.first_step;
	deadline->timeout_ms = first && process->watchdog_init_ms ? process->watchdog_init_ms : process->watchdog_ms;
	deadline->from = process->watchdog_from;
}

static const struct rank *rank_of_world(const struct job *job, int32_t world)
{
	for (uint32_t i = 0; i < job->rank_count; i++)
		if (job->ranks[i].world == world)
			return &job->ranks[i];
	return NULL;
}

static const char *phase_of(uint16_t state)
{
	if (state & OPERATION_EXCLUDED)
		return "untracked";
	if (state & OPERATION_DONE)
		return "done";
	if (state & OPERATION_STARTED && !(state & OPERATION_HOST))
		return "running";
	return state & OPERATION_LAUNCHED ? "launched" : "enqueued";
}

static void view_operation(const struct analysis *analysis, const struct trace *trace, const struct instance *instance,
			   struct analysis_operation_view *view)
{
	const struct operation *operation = &instance->operations[trace->member];

	*view = (struct analysis_operation_view){
		.function = instance->function,
		.dtype = instance->dtype,
		.sequence = instance->sequence,
		.count = instance->count,
		.step = instance_step(instance),
		.called_ns = operation->api_ns,
		.launched_ns = operation->launch_ns,
		.arrived_ns = operation->state & OPERATION_STARTED ? operation->arrival_ns : 0,
		.done_ns = operation->state & OPERATION_DONE ? operation->done_ns : 0,
		.late_us = operation->by_us,
		.phase = phase_of(flight_state(instance, trace->member)),
	};
	naming_communicator(view->comm_name, sizeof(view->comm_name), &analysis->job, instance->communicator);
}

void analysis_visit_operations(const struct analysis *analysis, int32_t rank, uint32_t most,
			       analysis_operation_visit *visit, void *argument)
{
	const struct rank *who = rank_of_world(&analysis->job, rank);
	uint64_t newest = who ? trace_newest_operation(who->process) : 0;
	struct analysis_operation_view view;

	for (uint64_t ticket = newest; ticket && most && newest - ticket < JOB_TRACE; ticket--) {
		const struct trace *trace = &who->process->trace[ticket % JOB_TRACE];
		const struct instance *instance = trace->ticket == ticket ? trace_instance(trace) : NULL;
		if (!instance || instance_is_replay(instance) || !instance_joined(instance, trace->member))
			continue;
		view_operation(analysis, trace, instance, &view);
		visit(argument, &view);
		most--;
	}
}

static void view_thread(const struct intern *intern, const struct evidence_piece *piece,
			struct analysis_thread_view *view)
{
	*view = (struct analysis_thread_view){
		.tid = piece->tid,
		.thread = intern_text(intern, piece->thread),
		.system_call = call_name(piece->system_call),
		.path = intern_text(intern, piece->path),
		.wait_channel = intern_text(intern, piece->wait_channel),
		.state = piece->state,
		.fd = piece->fd,
		.start_ns = piece->start_ns,
		.end_ns = piece->end_ns,
		.frame_count = piece->frame_count,
	};
	for (uint32_t i = 0; i < piece->frame_count && i < EVIDENCE_FRAMES; i++)
		view->frames[i] = intern_text(intern, piece->frames[i]);
}

/* Threads that were told of already, by their newest piece. */
static bool is_new(uint32_t *seen, uint32_t count, uint32_t tid)
{
	for (uint32_t i = 0; i < count; i++)
		if (seen[i] == tid)
			return false;
	seen[count] = tid;
	return true;
}

void analysis_visit_threads(const struct analysis *analysis, int32_t rank, uint32_t most, analysis_thread_visit *visit,
			    void *argument)
{
	const struct rank *who = rank_of_world(&analysis->job, rank);
	uint64_t kept = who ? evidence_kept(&who->process->evidence) : 0;
	struct analysis_thread_view view;
	uint32_t seen[EVIDENCE_THREADS], count = 0;

	for (uint64_t age = 0; age < kept && age < PIECES && count < most && count < EVIDENCE_THREADS; age++) {
		const struct evidence_piece *piece = evidence_at(&who->process->evidence, age);
		if (!is_new(seen, count, piece->tid))
			continue;
		count++;
		view_thread(&analysis->intern, piece, &view);
		visit(argument, &view);
	}
}

void analysis_visit_blocked(const struct analysis *analysis, int32_t rank, analysis_thread_visit *visit, void *argument)
{
	const struct rank *who = rank_of_world(&analysis->job, rank);
	struct blocked list[BLOCKED_MOST];
	size_t count = who ? blocked_find(&who->process->evidence, list) : 0;
	struct analysis_thread_view view;

	for (size_t i = 0; i < count; i++) {
		view_thread(&analysis->intern, list[i].piece, &view);
		view.start_ns = list[i].start_ns;
		view.end_ns = list[i].end_ns;
		visit(argument, &view);
	}
}

void analysis_keep_cells(struct analysis *analysis)
{
	cells_open(&analysis->cells, CELLS_LIMIT);
	analysis->account.cells = &analysis->cells;
}

const struct cells *analysis_cells(const struct analysis *analysis)
{
	return &analysis->cells;
}
