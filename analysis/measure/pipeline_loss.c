/* SPDX-License-Identifier: MIT */
#include "analysis/measure/pipeline_loss.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/model.h"
#include "analysis/steps/numbering.h"
#include "analysis/measure/pipeline_shape.h"
#include "analysis/numbers/sorting.h"
#include "analysis/known/trace.h"

/* The calls of all ranks of one communicator, by rank of it. */
struct collected {
	struct pipeline_call *calls; /* JOB_TRACE for each rank */
	struct pipeline_rank *ranks;
	const struct member **members;
	uint32_t count;
};

static const struct trace *trace_at(const struct process *process, uint64_t ticket)
{
	const struct trace *trace = &process->trace[ticket % JOB_TRACE];
	bool placed = trace->ticket == ticket && trace->place.place != STEPS_NO_PLACE &&
		      trace->steps_version == process->steps.version;

	return placed ? trace : NULL;
}

/* The newest step that is over and of which nothing has been forgotten; 0 none. */
static uint64_t last_whole_step(const struct process *process)
{
	uint64_t newest = trace_newest_operation(process), oldest = trace_oldest(newest), least = UINT64_MAX, most = 0;

	for (uint64_t ticket = oldest; ticket <= newest; ticket++) {
		const struct trace *trace = trace_at(process, ticket);
		uint64_t step = trace ? trace->place.step : 0;

		if (!trace)
			continue;
		least = step < least ? step : least;
		most = step > most ? step : most;
	}
	return most > 1 && least < most - 1 && numbering_told(process, most - 1) >= 0 ? most - 1 : 0;
}

static bool collect_rank(const struct communicator *communicator, const struct member *member,
			 struct pipeline_call *calls, struct pipeline_rank *rank)
{
	const struct process *process = member->process;
	uint64_t step = process->trace ? last_whole_step(process) : 0;
	uint64_t newest = step ? trace_newest_operation(process) : 0;

	*rank = (struct pipeline_rank){ .calls = calls };
	for (uint64_t ticket = trace_oldest(newest); step && ticket <= newest; ticket++) {
		const struct trace *trace = trace_at(process, ticket);

		if (!trace || trace->place.step != step || trace->communicator != communicator->index)
			continue;
		const struct instance *instance = trace_instance(trace);

		if (!instance)
			return false;
		if (!instance_is_point_to_point(instance))
			continue;
		bool sends = instance->source == member->comm_rank;

		calls[rank->count++] = (struct pipeline_call){
			.peer = (uint32_t)(sends ? instance->target : instance->source), .sends = sends
		};
	}
	return rank->count > 0;
}

static bool collect(const struct communicator *communicator, struct collected *collected)
{
	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct member *member = &communicator->members[i];
		uint32_t at = (uint32_t)member->comm_rank;

		if (member->comm_rank < 0 || at >= collected->count || collected->members[at])
			return false;
		collected->members[at] = member;
		if (!collect_rank(communicator, member, &collected->calls[(size_t)at * JOB_TRACE],
				  &collected->ranks[at]))
			return false;
	}
	return true;
}

static struct pipeline_shape find_shape(const struct communicator *communicator, const struct member **members)
{
	struct pipeline_shape shape = { PIPELINE_NONE, 0, 0 };
	struct collected collected = { .count = communicator->member_count, .members = members };

	collected.calls = calloc((size_t)collected.count * JOB_TRACE, sizeof(*collected.calls));
	collected.ranks = calloc(collected.count, sizeof(*collected.ranks));
	if (collected.calls && collected.ranks && collect(communicator, &collected))
		shape = pipeline_shape_find(collected.ranks, collected.count);
	free(collected.calls);
	free(collected.ranks);
	return shape;
}

static void add_rank(const struct job *job, const struct member *member, struct analysis_pipeline *told)
{
	const struct process *process = member->process;
	int32_t world = job_member_rank(job, member)->world;

	if (!told->rank_count || world < told->lowest) {
		told->lowest = world;
		snprintf(told->host, sizeof(told->host), "%s", process->host_name);
		told->local_rank = process->local_rank;
	}
	if (told->rank_count < ANALYSIS_LOSS_RANKS)
		told->ranks[told->rank_count++] = world;
	else
		told->more = true;
}

/* A communicator of which all ranks are seen, and whose shape is known. */
static void add_pipeline(const struct job *job, const struct communicator *communicator, struct analysis_pipeline *told)
{
	const struct member **members = calloc(communicator->member_count, sizeof(*members));
	struct pipeline_shape shape = { PIPELINE_NONE, 0, 0 };

	if (members)
		shape = find_shape(communicator, members);
	if (shape.end != PIPELINE_NONE) {
		told->pipelines++;
		told->stages = (int32_t)communicator->member_count;
		told->open |= shape.end == PIPELINE_OPEN;
		told->likely |= shape.end == PIPELINE_LIKELY;
		add_rank(job, members[shape.last], told);
		if (shape.end == PIPELINE_OPEN)
			add_rank(job, members[shape.first], told);
	}
	free(members);
}

void pipeline_loss_tell(const struct analysis *analysis, struct analysis_pipeline *told)
{
	const struct job *job = &analysis->job;

	*told = (struct analysis_pipeline){ .local_rank = -1 };
	for (uint32_t i = 0; i < job->communicator_count; i++) {
		const struct communicator *communicator = job->communicators[i];

		told->sends |= communicator && communicator->point_to_point;
		if (communicator && communicator->point_to_point && communicator->member_count > 1 &&
		    communicator->member_count <= ANALYSIS_STAGES_MAX && job_unseen(communicator) == 0)
			add_pipeline(job, communicator, told);
	}
	sort_i32(told->ranks, told->rank_count);
}
