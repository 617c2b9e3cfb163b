/* SPDX-License-Identifier: MIT */
/* A played job all the way: analysis → snapshot (docs/protocol.md) → model → screen. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/view/view.h"
#include "protocol/snapshot.h"
#include "console/top/model.h"
#include "console/top/view.h"
#include "tests/unit/analysis/jobs/played.h"
#include "tests/unit/analysis/jobs/scanned.h"

#define EVERYTHING ((1u << REQUEST_TOPICS) - 1)

static struct played play_late(int rank)
{
	struct history_job job = { .ranks = 8, .steps = 40, .layers = 4, .compute_ms = 20, .jitter_ms = 1 };

	job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = rank, .first_step = 20, .ms = 300, .every = 1 };
	return play(&job);
}

static struct snapshot_source source_of(const struct played *run)
{
	return (struct snapshot_source){ .analysis = run->analysis,
					 .job = "j\xff",
					 .now_ns = UINT64_C(500000000000),
					 .realtime_offset_ns = INT64_C(1795000000000000000) };
}

/* As it is after its way over the socket. */
static json_t *snapshot(const struct played *run, unsigned topics, uint64_t since)
{
	struct snapshot_source source = source_of(run);
	json_t *made = snapshot_json(&source, topics, since);
	char *line = json_dumps(made, JSON_COMPACT | JSON_REAL_PRECISION(15));

	json_decref(made);
	cr_assert(line);
	json_t *read = json_loads(line, 0, NULL);

	free(line);
	cr_assert(read);
	return read;
}

static size_t columns_of(const json_t *message)
{
	return json_array_size(json_object_get(json_object_get(json_object_get(message, "snapshot"), "cells"), "columns"));
}

Test(played, the_rank_that_is_late_is_the_first_row_of_the_screen)
{
	struct played run = play_late(5);
	json_t *message = snapshot(&run, EVERYTHING, 0);
	struct model model = { 0 };
	struct view view = { .rank = -1 };
	struct canvas canvas = { 0 };
	char row[512];

	model_take(&model, message, 0);
	cr_expect_eq(model.rank_count, 8);
	cr_expect_eq(model.communicator_count, 1);
	cr_expect_str_eq(model.job, "j\\xff");
	cr_expect_geq(model.column_count, 30);
	view.kind = VIEW_RANKS;
	cr_assert(canvas_reset(&canvas, 80, 24, false));
	view_draw(&model, &view, &canvas, model.at_ms);
	cr_expect_eq(view.under_cursor, 5);
	canvas_row_text(&canvas, 2, row, sizeof(row));
	cr_expect(strstr(row, "    5  "), "%s", row);
	cr_expect(strstr(row, " 30") || strstr(row, " 29"), "300 ms a step: %s", row);
	canvas_free(&canvas);
	model_free(&model);
	json_decref(message);
	end(&run);
}

Test(played, only_what_was_asked_for_is_in_it_and_only_what_has_changed)
{
	struct played run = play_late(5);
	const struct cells *cells = analysis_cells(run.analysis);
	json_t *none = snapshot(&run, 0, 0), *all = snapshot(&run, REQUEST_CELLS, 0);
	json_t *few = snapshot(&run, REQUEST_CELLS, cells->columns[cells->count - 3].changed);
	json_t *nothing_new = snapshot(&run, REQUEST_CELLS, cells->changes);

	cr_expect_null(json_object_get(json_object_get(none, "snapshot"), "ranks"));
	cr_expect_null(json_object_get(json_object_get(none, "snapshot"), "cells"));
	cr_expect_not_null(json_object_get(json_object_get(none, "snapshot"), "job"));
	cr_expect_eq(columns_of(all), cells->count);
	cr_expect_leq(columns_of(few), 2);
	cr_expect_geq(columns_of(few), 1);
	cr_expect_eq(columns_of(nothing_new), 0);
	json_decref(none);
	json_decref(all);
	json_decref(few);
	json_decref(nothing_new);
	end(&run);
}

Test(played, magnitudes_of_a_job_that_is_scanned_are_on_the_screen)
{
	static struct scanned job;
	struct model model = { 0 };
	struct view view = { .rank = -1, .kind = VIEW_VALUES };
	struct canvas canvas = { 0 };
	char row[512];

	scanned_start(&job, 4, 4);
	analysis_keep_cells(job.analysis);
	int fsdp = scanned_communicator(&job, "fsdp", 4, 0, 1);
	for (int step = 0; step < 10; step++) {
		for (int i = 0; i < 4; i++)
			job.absmax[i] = i == 2 ? (float)(1 << step) : 0.5f;
		scanned_call(&job, fsdp,
			     (struct scanned_call){
				 .function = RW_FUNCTION_REDUCE_SCATTER, .dtype = RW_DTYPE_BFLOAT16, .count = 100 });
		scanned_tick(&job, 2000);
	}
	struct played run = { .analysis = job.analysis };
	json_t *message = snapshot(&run, EVERYTHING, 0);

	model_take(&model, message, 0);
	cr_assert(canvas_reset(&canvas, 80, 24, false));
	view_draw(&model, &view, &canvas, model.at_ms);
	canvas_row_text(&canvas, 2, row, sizeof(row));
	cr_expect(strstr(row, " fsdp                     512     2         1 "), "%s", row);
	canvas_free(&canvas);
	model_free(&model);
	json_decref(message);
	scanned_free(&job);
}

Test(played, one_rank_is_told_with_its_last_operations)
{
	struct played run = play_late(5);
	struct snapshot_source source = source_of(&run);
	json_t *rank = snapshot_rank_json(&source, 5), *nobody = snapshot_rank_json(&source, 8);

	cr_assert(rank);
	cr_expect(json_is_array(json_object_get(rank, "blocked")));
	cr_expect_eq(json_integer_value(json_object_get(rank, "rank")), 5);
	cr_expect_eq(json_array_size(json_object_get(rank, "last_operations")), 32);
	cr_expect_null(nobody);
	json_decref(rank);
	end(&run);
}
