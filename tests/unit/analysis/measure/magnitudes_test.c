/* SPDX-License-Identifier: MIT */
/* The largest magnitudes of each communicator, for those who look. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "analysis/view/view.h"
#include "tests/unit/analysis/jobs/scanned.h"

enum { RANKS = 8, STEPS = 30, SECOND_HALF = 16 };

/* Rank 5 brings 64 times what the others bring from the second half on; bytes are gathered on `bytes`. */
static void play(struct scanned *job)
{
	int fsdp, bytes;

	scanned_start(job, RANKS, RANKS);
	analysis_keep_cells(job->analysis);
	bytes = scanned_communicator(job, "bytes", RANKS, 0, 1);
	fsdp = scanned_communicator(job, "fsdp", RANKS, 0, 1);
	for (int step = 1; step <= STEPS; step++) {
		for (int i = 0; i < RANKS; i++)
			job->absmax[i] = i == 5 && step >= SECOND_HALF ? 128 : 2;
		scanned_call(job, bytes, (struct scanned_call){ .function = RW_FUNCTION_ALL_GATHER, .dtype = RW_DTYPE_UINT8 });
		for (int layer = 0; layer < 3; layer++)
			scanned_call(job, fsdp, (struct scanned_call){ .function = RW_FUNCTION_REDUCE_SCATTER, .dtype = RW_DTYPE_FLOAT32,
								       .count = 100 });
		/* A norm, larger than every gradient: it is not what is looked for. */
		for (int i = 0; i < RANKS; i++)
			job->absmax[i] = 1e6f;
		scanned_call(
		    job, fsdp,
		    (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .dtype = RW_DTYPE_FLOAT32, .count = 1 });
		scanned_tick(job, 100);
	}
	scanned_end(job);
}

/* World ranks by index. */
struct worlds {
	int32_t rank[RANKS];
	size_t count;
};

static void note_world(void *argument, const struct analysis_rank_view *rank)
{
	struct worlds *worlds = argument;

	worlds->rank[worlds->count++] = rank->rank;
}

Test(magnitudes, the_largest_of_each_step_is_kept_with_the_rank_that_brought_it)
{
	static struct scanned job;
	struct worlds worlds = { 0 };
	size_t before = 0, after = 0;

	play(&job);
	const struct cells *cells = analysis_cells(job.analysis);

	analysis_visit_ranks(job.analysis, note_world, &worlds);
	cr_assert_eq(worlds.count, RANKS);
	cr_assert_eq(cells->line_count, 1, "bytes have no magnitude: %u lines", cells->line_count);
	cr_expect_str_eq(cells->lines[0].name, "fsdp");
	cr_expect_not(cells->more_lines);
	for (size_t i = 0; i < cells->count; i++) {
		const struct column *column = &cells->columns[i];

		if (!column->line_count)
			continue;
		const struct cell_magnitude *magnitude = &column->magnitudes[0];

		cr_assert(magnitude->brought == 2 || magnitude->brought == 128, "%f", (double)magnitude->brought);
		before += magnitude->brought == 2;
		after += magnitude->brought == 128;
		if (magnitude->brought == 2)
			continue;
		cr_assert_lt(magnitude->rank, RANKS);
		cr_expect_eq(worlds.rank[magnitude->rank], 5);
		cr_expect_geq(magnitude->result, 0);
		cr_expect_eq(before, before > 0 ? before : 1, "what is later comes later");
	}
	cr_expect_gt(before, 0);
	cr_expect_gt(after, 0);
	scanned_free(&job);
}

Test(magnitudes, nothing_is_kept_that_nobody_asked_for)
{
	static struct scanned job;

	scanned_start(&job, RANKS, RANKS);
	int fsdp = scanned_communicator(&job, "fsdp", RANKS, 0, 1);
	scanned_call(
	    &job, fsdp,
	    (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .dtype = RW_DTYPE_FLOAT32, .count = 100 });
	scanned_tick(&job, 5000);
	cr_expect_eq(analysis_cells(job.analysis)->line_count, 0);
	scanned_free(&job);
}

Test(magnitudes, more_communicators_than_there_is_room_for_are_left_out_and_said_to_be)
{
	static struct scanned job;

	scanned_start(&job, 2, 2);
	analysis_keep_cells(job.analysis);
	for (int i = 0; i < CELLS_LINES + 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "group%d", i);
		int group = scanned_communicator(&job, name, 2, 0, 1);
		scanned_call(&job, group,
			     (struct scanned_call){
				 .function = RW_FUNCTION_ALL_REDUCE, .dtype = RW_DTYPE_FLOAT32, .count = 100 });
	}
	scanned_tick(&job, 5000);
	cr_expect_eq(analysis_cells(job.analysis)->line_count, CELLS_LINES);
	cr_expect(analysis_cells(job.analysis)->more_lines);
	scanned_free(&job);
}
