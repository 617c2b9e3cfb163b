/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/job_shown.h"

#include <inttypes.h>

static void on_rank(void *argument, const struct analysis_rank_view *rank)
{
	FILE *out = argument;

	fprintf(out,
		"rank %d %s %d, life %d %d, parts %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 ", lost %" PRIu64
		", %" PRIu64 " operations, does %d in %s %u #%" PRIu64 " since %" PRIu64
		", %s %s, of %u, heard %" PRIu64 ", '%s' '%s'\n",
		rank->rank, rank->host, rank->pid, (int)rank->life, rank->exit_status, rank->parts.own_ns,
		rank->parts.wait_ns, rank->parts.transfer_ns, rank->parts.unseen_ns, rank->lost_ns, rank->operations,
		(int)rank->doing, rank->comm_name, rank->function, rank->sequence, rank->since_ns, rank->thread,
		rank->system_call, rank->compared, rank->heard_ns, rank->why, rank->reason);
}

static void on_communicator(void *argument, const struct analysis_communicator_view *communicator)
{
	FILE *out = argument;

	fprintf(out, "communicator %" PRIx64 " %s of %d:", communicator->id, communicator->name, communicator->size);
	for (uint32_t i = 0; i < communicator->member_count; i++)
		fprintf(out, " %d %" PRIu64, communicator->ranks[i], communicator->calls[i]);
	fputc('\n', out);
}

static void on_flight(void *argument, const struct analysis_flight *flight)
{
	FILE *out = argument;

	fprintf(out, "in flight: %s of %d, %u #%" PRIu64 ", %u × %" PRIu64 ", %d unseen, here", flight->comm_name,
		flight->comm_size, flight->function, flight->sequence, flight->dtype, flight->count, flight->unseen);
	for (size_t i = 0; i < flight->joined_count; i++)
		fprintf(out, " %d %s", flight->joined[i], flight->joined_phase[i]);
	fputs(", missing", out);
	for (size_t i = 0; i < flight->missing_count; i++)
		fprintf(out, " %d", flight->missing[i]);
	fputc('\n', out);
}

static void write_cells(FILE *out, const struct cells *cells)
{
	for (size_t i = 0; cells && i < cells->count; i++) {
		const struct column *column = &cells->columns[i];
		fprintf(out, "cells from %" PRIu64 " to %" PRIu64 ":", column->from_ns, column->until_ns);
		for (uint32_t k = 0; k < column->rank_count; k++)
			fprintf(out, " %.3f %.3f %.3f %.3f %.3f", (double)column->cells[k].own_ms, (double)column->cells[k].wait_ms,
				(double)column->cells[k].transfer_ms, (double)column->cells[k].unseen_ms, (double)column->cells[k].lost_ms);
		fputc('\n', out);
	}
}

void job_shown(FILE *out, const struct job_view *view, const struct job_half_summary *is)
{
	struct analysis_deadline deadline = { 0 };
	struct analysis_summary summary = { 0 };

	fprintf(out,
		"%u hosts, %u silent, %u ranks of %d, %u communicators, generation %u, %" PRIu64 " batches, %" PRIu64
		" messages, %" PRIu64 " missed, %" PRIu64 " unsent, %" PRIu64 " bad, %" PRIu64 " ignored, %" PRIu64
		" rows, %" PRIu64 " unaligned, %u findings\n",
		is->hosts, is->silent_hosts, is->ranks, is->ranks_total, is->communicators, is->generation, is->batches,
		is->messages, is->missed, is->unsent, is->bad, is->ignored, is->rows, is->unaligned,
		is->findings_opened);
	job_view_ranks(view, on_rank, out);
	job_view_communicators(view, on_communicator, out);
	job_view_flights(view, on_flight, out);
	job_view_deadline(view, &deadline);
	job_view_summary(view, &summary);
	fprintf(out, "watchdog %" PRIu64 " %s since %" PRIu64 "; %u ranks of %d, %u communicators, %" PRIu64 " operations\n",
		deadline.timeout_ms, deadline.from ? deadline.from : "", deadline.since_ns, summary.processes, summary.ranks_total,
		summary.communicators, summary.operations);
	write_cells(out, job_view_cells(view));
}
