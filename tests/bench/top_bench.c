/* SPDX-License-Identifier: MIT */
/* How often a second the console can take and draw a snapshot of a large job: top_bench [RANKS [STEPS]]. No terminal: what ncurses
 * writes is bounded by the screen, not by the ranks. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "console/top/canvas.h"
#include "console/top/model.h"
#include "console/top/view.h"

enum { WIDTH = 200, HEIGHT = 60, SECONDS = 2, GPUS = 8 };

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* whatever else the machine does */
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static json_t *rank_json(int rank)
{
	char host[24];

	snprintf(host, sizeof(host), "node%04d", rank / GPUS);
	return json_pack("{s:i, s:s, s:i, s:s, s:s, s:f, s:{s:s, s:s, s:i}, s:f, s:f, s:f}", "rank", rank, "host", host, "pid", 4000 + rank,
			 "life", "alive", "doing", rank % 9 ? "waits" : "works", "since_unix_ms", 1e12, "operation", "comm_name",
			 "~fsdp", "function", "AllGather", "sequence", 118, "own_ms", 1000.0 + rank % 7, "wait_ms", 300.0, "lost_ms",
			 rank == 4711 ? 1e6 : 1.0);
}

static json_t *column_json(int ranks, int step)
{
	json_t *own = json_array(), *wait = json_array(), *lost = json_array();

	for (int i = 0; i < ranks; i++) {
		json_array_append_new(own, json_real(700 + (i * 31 + step * 17) % 13));
		json_array_append_new(wait, json_real(i == 4711 ? 0 : 300));
		json_array_append_new(lost, json_real(i == 4711 ? 300.0 * (ranks - 1) : (i * step) % 5));
	}
	return json_pack("{s:i, s:i, s:f, s:f, s:o, s:o, s:o}", "step", step, "last_step", step, "from_unix_ms", step * 1000.0,
			 "until_unix_ms", step * 1000.0 + 999, "own_ms", own, "wait_ms", wait, "lost_ms", lost);
}

static json_t *snapshot(int ranks, int first, int last)
{
	json_t *rows = json_array(), *numbers = json_array(), *columns = json_array();

	for (int i = 0; i < ranks; i++) {
		json_array_append_new(rows, rank_json(i));
		json_array_append_new(numbers, json_integer(i));
	}
	for (int step = first; step <= last; step++)
		json_array_append_new(columns, column_json(ranks, step));
	return json_pack("{s:{s:f, s:o, s:{s:o, s:o}}}", "snapshot", "unix_ms", 1e12 + 5000, "ranks", rows, "cells", "ranks", numbers,
			 "columns", columns);
}

static void bench_take(struct model *model, int ranks, int steps)
{
	json_t *message = snapshot(ranks, steps, steps);
	char *line = json_dumps(message, JSON_COMPACT);
	double begin = now_s();
	int count = 0;

	for (; now_s() - begin < SECONDS; count++) {
		json_t *parsed = json_loads(line, 0, NULL);

		model_take(model, parsed, 1e12);
		json_decref(parsed);
	}
	printf("%d ranks: a snapshot with one new step is taken in %.0f ms of one core\n", ranks, (now_s() - begin) / count * 1e3);
	free(line);
	json_decref(message);
}

static void bench_draw(const struct model *model, enum view_kind kind, const char *name)
{
	struct view view = { .kind = kind, .rank = 4711 };
	struct canvas canvas = { 0 };
	double begin = now_s();
	int count = 0;

	for (; now_s() - begin < SECONDS; count++) {
		view.cursor = (size_t)count % 40;
		canvas_reset(&canvas, WIDTH, HEIGHT, false);
		view_draw(model, &view, &canvas, 1e12 + 5000);
	}
	printf("%zu ranks: %s is drawn %.0f times in a second of one core (%d x %d)\n", model->rank_count, name, count / (now_s() - begin), WIDTH, HEIGHT);
	canvas_free(&canvas);
}

int main(int argc, char **argv)
{
	int ranks = argc > 1 ? atoi(argv[1]) : 16384, steps = argc > 2 ? atoi(argv[2]) : 120;
	struct model model = { 0 };
	json_t *message = snapshot(ranks, 1, steps);

	model_take(&model, message, 1e12);
	json_decref(message);
	bench_take(&model, ranks, steps + 1);
	bench_draw(&model, VIEW_OVERVIEW, "the overview");
	bench_draw(&model, VIEW_RANKS, "the list of ranks");
	bench_draw(&model, VIEW_RANK, "one rank");
	bench_draw(&model, VIEW_VALUES, "the values");
	model_free(&model);
	return 0;
}
