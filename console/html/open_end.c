/* SPDX-License-Identifier: MIT */
#include "console/html/open_end.h"

#include <stdlib.h>

/* The first row of the process; a new one where it never finished an operation. */
static uint32_t row_of(struct heat *heat, analysis_process_id process, int32_t world_rank)
{
	uint32_t count = heat->row_count;

	for (uint32_t i = 0; i < count; i++)
		if (heat->rows[i].process == process)
			return i;
	struct heat_row *row = heat_row(heat, count);

	if (row) {
		row->process = process;
		row->world_rank = world_rank;
	}
	return count;
}

/* When it came into it, as far as anybody saw; 0: it had ended, or stands in line behind others. */
static uint64_t open_since(const struct rank_slices *slices, const struct rw_operation *operation)
{
	switch (box_operations_state(&slices->operations, operation)) {
	case OPERATION_RUNNING:
		return operation->known & RW_KNOWN_STARTED ? operation->started_seen_ns : operation->launch_end_ns;
	case OPERATION_IN_CALL:
		return operation->api_ns;
	default:
		return 0;
	}
}

static uint64_t first_open(const struct rank_slices *slices)
{
	uint64_t first_ns = 0;

	for (size_t i = 0; i < slices->operations.count; i++) {
		uint64_t since_ns = open_since(slices, &slices->operations.list[i]);

		if (since_ns && (!first_ns || since_ns < first_ns))
			first_ns = since_ns;
	}
	return first_ns;
}

/* Did it end an operation in that time, which the account did not report? */
static bool ended_between(const struct rank_slices *slices, uint64_t from_ns, uint64_t until_ns)
{
	for (size_t i = 0; i < slices->operations.count; i++) {
		const struct rw_operation *operation = &slices->operations.list[i];
		uint64_t done_ns = rank_slices_time(slices, operation->done_seen_ns);

		if (operation->known & RW_KNOWN_DONE && done_ns > from_ns && done_ns <= until_ns)
			return true;
	}
	return false;
}

void open_end_add(struct open_end *end, size_t index, const struct rank_slices *slices)
{
	struct run_view *view = end->view;
	const struct replay_process *process = &view->replay.processes[index];
	uint32_t row = row_of(&view->heat, (analysis_process_id)index + 1, process->rank);
	uint64_t open_ns = first_open(slices), end_ns = rank_slices_time(slices, slices->end_ns);
	struct open_rank *ranks = reallocarray(end->ranks, end->count + 1, sizeof(*ranks));

	if (!ranks || view->heat.no_memory)
		return;
	end->ranks = ranks;
	uint64_t begin_ns = rank_slices_time(slices, replay_header(process)->created_ns);
	uint64_t until_ns = view->heat.rows[row].until_ns ? view->heat.rows[row].until_ns : begin_ns;

	open_ns = open_ns ? rank_slices_time(slices, open_ns) : 0;
	if (open_ns && open_ns < until_ns)
		open_ns = until_ns;
	uint64_t outside_ns = open_ns ? open_ns : end_ns;

	heat_add(&view->heat, row, ended_between(slices, until_ns, outside_ns) ? HEAT_UNSEEN : HEAT_OWN, until_ns,
		 outside_ns);
	if (open_ns)
		heat_add(&view->heat, row, HEAT_OPEN, open_ns, end_ns);
	end->ranks[end->count++] = (struct open_rank){ row, process->rank, open_ns };
}

static const struct open_rank *find(const struct open_end *end, int32_t world_rank)
{
	for (size_t i = 0; i < end->count; i++)
		if (end->ranks[i].world_rank == world_rank)
			return &end->ranks[i];
	return NULL;
}

/* Late is who has not come and stands in no operation itself, from when all that are in it had come. */
static void take_flight(void *argument, const struct analysis_flight *flight)
{
	struct open_end *end = argument;
	uint64_t all_ns = 0;

	for (size_t i = 0; i < flight->joined_count; i++) {
		const struct open_rank *rank = find(end, flight->joined[i]);

		if (rank && rank->open_ns > all_ns)
			all_ns = rank->open_ns;
	}
	for (size_t i = 0; all_ns && i < flight->missing_count; i++) {
		const struct open_rank *rank = find(end, flight->missing[i]);

		if (rank && !rank->open_ns)
			heat_add(&end->view->heat, rank->row, HEAT_LATE, all_ns, end->view->end_ns);
	}
}

void open_end_finish(struct open_end *end)
{
	replay_visit_flights(&end->view->replay, take_flight, end);
}

void open_end_free(struct open_end *end)
{
	free(end->ranks);
	*end = (struct open_end){ 0 };
}
