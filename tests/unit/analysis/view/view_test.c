/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/host/evidence.h"
#include "analysis/view/view.h"
#include "tests/unit/analysis/jobs/played.h"

enum { RANKS = 8 };

struct seen {
	struct analysis_rank_view ranks[RANKS];
	size_t count;
};

static void note_rank(void *argument, const struct analysis_rank_view *rank)
{
	struct seen *seen = argument;

	cr_assert_lt(seen->count, RANKS);
	seen->ranks[seen->count++] = *rank;
}

static struct played play_late(int rank)
{
	struct history_job job = { .ranks = RANKS, .steps = 40, .layers = 4, .compute_ms = 20, .jitter_ms = 1 };

	job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = rank, .first_step = 20, .ms = 300, .every = 1,
						.evidence = EVIDENCE_FSYNC };
	return play(&job);
}

Test(view, the_cells_hold_all_of_the_account_and_say_who_was_waited_for_when)
{
	struct played run = play_late(5);
	struct seen seen = { 0 };
	const struct cells *cells = analysis_cells(run.analysis);

	analysis_visit_ranks(run.analysis, note_rank, &seen);
	cr_assert_eq(seen.count, RANKS);
	cr_assert_gt(cells->count, 30);
	for (size_t i = 0; i < RANKS; i++) {
		double own = 0, wait = 0, lost_before = 0, lost_after = 0;

		for (size_t k = 0; k < cells->count; k++) {
			const struct column *column = &cells->columns[k];

			cr_assert_eq(column->rank_count, RANKS);
			own += (double)column->cells[i].own_ms;
			wait += (double)column->cells[i].wait_ms;
			*(column->step < 20 ? &lost_before : &lost_after) += (double)column->cells[i].lost_ms;
		}
		cr_expect_float_eq(own, (double)seen.ranks[i].parts.own_ns / 1e6, 1, "rank %d", seen.ranks[i].rank);
		cr_expect_float_eq(wait, (double)seen.ranks[i].parts.wait_ns / 1e6, 1);
		cr_expect_float_eq(lost_before + lost_after, (double)seen.ranks[i].lost_ns / 1e6, 1);
		cr_expect_lt(lost_before, 100, "rank %d", seen.ranks[i].rank);
		if (seen.ranks[i].rank == 5)
			cr_expect_gt(lost_after, 0.8 * 20 * 300 * (RANKS - 1), "%f", lost_after);
		else
			cr_expect_lt(lost_after, 100, "rank %d: %f", seen.ranks[i].rank, lost_after);
	}
	end(&run);
}

static void note_operation(void *argument, const struct analysis_operation_view *operation)
{
	size_t *count = argument;

	cr_expect_gt(operation->called_ns, 0);
	cr_expect_neq(*operation->comm_name, '\0');
	++*count;
}

static void note_thread(void *argument, const struct analysis_thread_view *thread)
{
	size_t *fsyncs = argument;

	*fsyncs += !strcmp(thread->system_call, "fsync") && !strcmp(thread->path, "/slow/events.out.tfevents.0");
}

Test(view, a_rank_shows_its_last_operations_and_what_its_threads_were_in)
{
	struct played run = play_late(5);
	size_t operations = 0, fsyncs = 0, nobodys = 0;

	analysis_visit_operations(run.analysis, 5, 10, note_operation, &operations);
	analysis_visit_threads(run.analysis, 5, 8, note_thread, &fsyncs);
	analysis_visit_operations(run.analysis, 99, 10, note_operation, &nobodys);
	cr_expect_eq(operations, 10);
	cr_expect_eq(fsyncs, 1);
	cr_expect_eq(nobodys, 0);
	end(&run);
}

static void count_thread(void *argument, const struct analysis_thread_view *thread)
{
	size_t *threads = argument;

	cr_expect_geq(thread->tid, 9000, "the newest first");
	++*threads;
}

/* It has had more threads than any view shows. */
Test(view, of_a_rank_with_many_threads_as_many_are_shown_as_are_kept)
{
	struct played run = play_late(5);
	size_t threads = 0, three = 0;

	for (uint32_t i = 0; i < EVIDENCE_THREADS + 6; i++) {
		const struct analysis_wait wait = { .process = 105,
						    .level = RW_LEVEL_EBPF,
						    .tid = 9000 + i,
						    .start_ns = UINT64_C(900000000000) + i,
						    .end_ns = UINT64_C(900000001000) + i,
						    .system_call = -1,
						    .fd = -1,
						    .state = 'S',
						    .thread = "worker" };
		cr_assert_eq(analysis_add_wait(run.analysis, &wait), 0);
	}
	analysis_visit_threads(run.analysis, 5, 2 * EVIDENCE_THREADS, count_thread, &threads);
	analysis_visit_threads(run.analysis, 5, 3, count_thread, &three);
	cr_expect_eq(threads, EVIDENCE_THREADS, "%zu", threads);
	cr_expect_eq(three, 3, "%zu", three);
	end(&run);
}

struct stretches {
	size_t fsyncs;
	uint64_t before_ns; /* where the one before, which is newer, began */
};

static void note_stretch(void *argument, const struct analysis_thread_view *stretch)
{
	struct stretches *stretches = argument;

	cr_expect_geq(stretch->end_ns - stretch->start_ns, 10000000u);
	if (strcmp(stretch->system_call, "fsync"))
		return;
	cr_expect_float_eq((double)(stretch->end_ns - stretch->start_ns) / 1e6, 300, 60, "%f",
			   (double)(stretch->end_ns - stretch->start_ns) / 1e6);
	cr_expect_str_eq(stretch->path, "/slow/events.out.tfevents.0");
	cr_expect(!stretches->fsyncs || stretch->end_ns < stretches->before_ns, "newest first, and apart");
	stretches->before_ns = stretch->start_ns;
	stretches->fsyncs++;
}

Test(view, a_rank_shows_the_earlier_waits_of_its_threads_too)
{
	struct played run = play_late(5);
	struct stretches stretches = { 0 }, nobodys = { 0 };

	analysis_visit_blocked(run.analysis, 5, note_stretch, &stretches);
	analysis_visit_blocked(run.analysis, 99, note_stretch, &nobodys);
	cr_expect_eq(stretches.fsyncs, 6, "%zu", stretches.fsyncs);
	cr_expect_eq(nobodys.fsyncs, 0);
	end(&run);
}

static void note_communicator(void *argument, const struct analysis_communicator_view *communicator)
{
	size_t *count = argument;

	cr_expect_eq(communicator->member_count, RANKS);
	++*count;
}

Test(view, communicators_show_all_their_members)
{
	struct played run = play_late(2);
	size_t count = 0;

	analysis_visit_communicators(run.analysis, note_communicator, &count);
	cr_expect_eq(count, 1);
	end(&run);
}
