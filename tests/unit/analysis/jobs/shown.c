/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/shown.h"

#include "analysis/view/view.h"

enum { SHOWN = 8 };

void shown_stretch(void *argument, const struct analysis_stretch *stretch)
{
	FILE *out = argument;

	fprintf(out, "stretch %u %d %d %u %lu %lu %lu\n", stretch->rank, stretch->world_rank, stretch->part,
		stretch->waited_for, stretch->from_ns, stretch->until_ns, stretch->step);
}

static void show_rank(void *argument, const struct analysis_rank_view *rank)
{
	FILE *out = argument;

	fprintf(
	    out,
	    "rank %d %d %d %d %ld parts %lu %lu %lu %lu lost %lu of %lu %lu does %d %s %u %lu %lu in %s %s %s %lu\n",
	    rank->rank, rank->pid, rank->life, rank->exit_status, rank->step, rank->parts.own_ns, rank->parts.wait_ns,
	    rank->parts.transfer_ns, rank->parts.unseen_ns, rank->lost_ns, rank->operations, rank->clean_scans,
	    rank->doing, rank->comm_name, rank->function, rank->sequence, rank->since_ns, rank->thread,
	    rank->system_call, rank->path, rank->seen_ns);
	if (rank->gpu)
		fprintf(out, "  GPU %s %s at %lu\n", rank->gpu->uuid, rank->gpu->pci, rank->gpu->at_ns);
	if (rank->xid)
		fprintf(out, "  Xid %u\n", rank->xid);
}

static void show_communicator(void *argument, const struct analysis_communicator_view *communicator)
{
	FILE *out = argument;

	fprintf(out, "communicator %lx %s %d\n", communicator->id, communicator->name, communicator->size);
	for (uint32_t i = 0; i < communicator->member_count; i++)
		fprintf(out, "  %d %lu %d\n", communicator->ranks[i], communicator->calls[i], communicator->captured[i]);
}

static void show_operation(void *argument, const struct analysis_operation_view *operation)
{
	FILE *out = argument;

	fprintf(out, "operation %s %u %u %lu %lu %ld at %lu %lu %lu %lu late %u %s\n", operation->comm_name,
		operation->function, operation->dtype, operation->sequence, operation->count, operation->step,
		operation->called_ns, operation->launched_ns, operation->arrived_ns, operation->done_ns,
		operation->late_us, operation->phase);
}

static void show_thread(void *argument, const struct analysis_thread_view *thread)
{
	FILE *out = argument;

	fprintf(out, "thread %u %s %s %s %s %c %d %lu %lu\n", thread->tid, thread->thread, thread->system_call, thread->path,
		thread->wait_channel, thread->state ? thread->state : '-', thread->fd, thread->start_ns, thread->end_ns);
	for (uint32_t i = 0; i < thread->frame_count; i++)
		fprintf(out, "  %s\n", thread->frames[i]);
}

static void show_flight(void *argument, const struct analysis_flight *flight)
{
	FILE *out = argument;

	fprintf(out, "flight %lx %s %d %u %lu %u %lu unseen %d\n", flight->comm, flight->comm_name, flight->comm_size,
		flight->function, flight->sequence, flight->dtype, flight->count, flight->unseen);
	for (size_t i = 0; i < flight->joined_count; i++)
		fprintf(out, "  %d %s\n", flight->joined[i], flight->joined_phase[i]);
	for (size_t i = 0; i < flight->missing_count; i++)
		fprintf(out, "  %d missing\n", flight->missing[i]);
}

void shown_now(FILE *out, const struct analysis *analysis)
{
	struct analysis_suspect suspects[SHOWN + 1] = { 0 };
	struct analysis_detail details[SHOWN + 1] = { 0 };
	struct analysis_deadline deadline;
	int32_t absentees[SHOWN + 1] = { 0 };
	size_t count = analysis_suspects(analysis, suspects, SHOWN);

	fprintf(out, "%zu suspects\n", count);
	for (size_t i = 0; i < count && i < SHOWN; i++)
		fprintf(out, "suspect %u %u %lu\n", suspects[i].process, suspects[i].tid, suspects[i].since_ns);
	count = analysis_wanted_details(analysis, details, SHOWN);
	fprintf(out, "%zu details\n", count);
	for (size_t i = 0; i < count && i < SHOWN; i++)
		fprintf(out, "detail %u %lx\n", details[i].process, details[i].comm);
	analysis_tell_deadline(analysis, &deadline);
	fprintf(out, "deadline %lu %s %lu\n", deadline.timeout_ms, deadline.timeout_ms ? deadline.from : "",
		deadline.since_ns);
	count = analysis_absentees(analysis, absentees, SHOWN);
	fprintf(out, "%zu absentees\n", count);
	for (size_t i = 0; i < count && i < SHOWN; i++)
		fprintf(out, "absent %d\n", absentees[i]);
	if (suspects[SHOWN].since_ns || details[SHOWN].comm || absentees[SHOWN])
		fprintf(out, "more is written than there is room for\n");
	analysis_visit_ranks(analysis, show_rank, out);
	analysis_visit_communicators(analysis, show_communicator, out);
	analysis_visit_flights(analysis, show_flight, out);
	for (int rank = 0; rank < 3; rank++) {
		analysis_visit_operations(analysis, rank, 5, show_operation, out);
		analysis_visit_threads(analysis, rank, 3, show_thread, out);
	}
}

static void show_cells(FILE *out, const struct cells *cells)
{
	for (uint32_t i = 0; i < cells->line_count; i++)
		fprintf(out, "line %lx %s\n", cells->lines[i].communicator, cells->lines[i].name);
	for (size_t i = 0; i < cells->count; i++) {
		const struct column *column = &cells->columns[i];

		fprintf(out, "column %lu %lu %lu %lu\n", column->step, column->last_step, column->from_ns, column->until_ns);
		for (uint32_t k = 0; k < column->rank_count; k++) {
			const struct cell *cell = &column->cells[k];

			fprintf(out, "  %.4g %.4g %.4g %.4g %.4g %u\n", (double)cell->own_ms, (double)cell->wait_ms,
				(double)cell->transfer_ms, (double)cell->unseen_ms, (double)cell->lost_ms, cell->bad);
		}
		for (uint32_t k = 0; k < column->line_count; k++) {
			const struct cell_magnitude *magnitude = &column->magnitudes[k];

			fprintf(out, "  %.6g %.6g of %u\n", (double)magnitude->brought, (double)magnitude->result, magnitude->rank);
		}
	}
}

static void show_account(FILE *out, const struct analysis *analysis)
{
	struct analysis_account told;

	analysis_tell_account(analysis, &told);
	fprintf(out, "account %d %.6g %.6g %.6g %.6g %.6g %d\n", told.known, told.own, told.wait, told.transfer,
		told.unseen, told.nobody, told.left_out);
	for (uint32_t i = 0; i < told.loss_count; i++) {
		const struct analysis_loss *loss = &told.losses[i];

		fprintf(out, "  loss %d %.6g %d %d %lu %lu %.6g %d %d%s %s %s\n", loss->rank, loss->share,
			loss->at_least, loss->spread_out, loss->steps, loss->of_steps, loss->step_ms, loss->by,
			loss->cause_class, loss->likely ? " likely" : "", loss->cause, loss->path);
	}
}

static void show_pipeline(FILE *out, const struct analysis *analysis)
{
	struct analysis_pipeline told;

	analysis_tell_pipeline(analysis, &told);
	fprintf(out, "pipelines %u", told.pipelines);
	if (told.pipelines) {
		fprintf(out, " of %d, %d %d, from %d, %s %d, ranks", told.stages, told.open, told.likely, told.lowest,
			told.host, told.local_rank);
		for (uint32_t i = 0; i < told.rank_count; i++)
			fprintf(out, " %d", told.ranks[i]);
	}
	fputc('\n', out);
}

static void show_memory(FILE *out, const struct analysis *analysis)
{
	struct analysis_gpu_memory told;

	analysis_tell_gpu_memory(analysis, &told);
	if (told.course != ANALYSIS_MEMORY_UNKNOWN)
		fprintf(out, "memory %d %d %ld %ld %ld %lu %lu %.6g %.6g %.6g %lu\n", told.course, told.rank, told.used,
			told.total, told.grown, told.until_step, told.steps, told.seconds, told.bytes_per_s,
			told.full_in_s, told.full_at_step);
}

static void show_long_steps(FILE *out, const struct analysis_long_steps *longs)
{
	fprintf(out, "  long %lu every %lu %.6g %.6g, %u operations:", longs->count, longs->every, longs->ms,
		longs->share, longs->operations);
	for (uint32_t i = 0; i < longs->kept; i++)
		fprintf(out, " %lu", longs->steps[i]);
	for (int i = 0; i < ANALYSIS_PARTS; i++)
		fprintf(out, " %.6g", longs->parts[i]);
	fputc('\n', out);
}

static void show_course(FILE *out, const struct analysis *analysis)
{
	struct analysis_step_course told;

	analysis_tell_step_course(analysis, &told);
	fprintf(out, "steps %lu of %.6g %.6g %.6g %d from %lu:", told.known, told.usual_ms, told.quarter_ms[0],
		told.quarter_ms[1], told.uneven, told.first);
	for (uint32_t i = 0; i < told.first_count; i++)
		fprintf(out, " %.6g", told.first_ms[i]);
	fputc('\n', out);
	for (int i = 0; i < 2; i++)
		show_long_steps(out, &told.longs[i]);
}

static void show_pace(FILE *out, const struct analysis *analysis)
{
	struct analysis_pace told;

	analysis_tell_pace(analysis, &told);
	if (told.course != ANALYSIS_PACE_UNKNOWN)
		fprintf(
		    out,
		    "pace %d of %lu since %lu until %lu: %.6g %.6g %.6g %.6g, wait %.6g %.6g, %.6g %s at %lu in %.6g\n",
		    told.course, told.known, told.since_step, told.step, told.before_ms, told.now_ms, told.ms_per_step,
		    told.late_share, told.wait_ms, told.wait_ms_per_step, told.watchdog_ms, told.watchdog_from,
		    told.watchdog_step, told.watchdog_in_s);
}

void shown_in_the_end(FILE *out, const struct analysis *analysis)
{
	struct analysis_summary summary;

	analysis_summarise(analysis, &summary);
	fprintf(out, "summary %u %u %d %lu %lu %lu %lu %lu %.6g %.6g %u %u\n", summary.processes, summary.communicators,
		summary.ranks_total, summary.operations, summary.untracked, summary.dropped, summary.captured,
		summary.steps, summary.step_ms, summary.first_step_ms, summary.findings_opened, summary.xids);
	show_account(out, analysis);
	show_pipeline(out, analysis);
	show_memory(out, analysis);
	show_course(out, analysis);
	show_pace(out, analysis);
	show_cells(out, analysis_cells(analysis));
}
