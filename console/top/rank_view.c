/* SPDX-License-Identifier: MIT */
/* One rank: where its time goes, what its threads do, its last operations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "console/top/rank_row.h"
#include "console/top/view.h"
#include "finding/path_text.h"

enum { BLOCKED = 16 /* earlier stretches, at most */ };

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : 0;
}

static const char *string(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* Text from the job: escaped as a whole. */
static void draw_foreign(struct view_drawing *drawing, int row, int column, enum canvas_style style, const char *line)
{
	char *escaped = foreign_text(line);

	canvas_cut(drawing->canvas, row, column, drawing->canvas->width - column, style, escaped ? escaped : "");
	free(escaped);
}

static const struct ranking_row *row_of(const struct ranking *ranking, const struct model *model, int32_t rank)
{
	for (size_t i = 0; i < ranking->count; i++)
		if (model->ranks[ranking->rows[i].index].rank == rank)
			return &ranking->rows[i];
	return NULL;
}

/* " of 700" behind a number; nothing where it is not known. */
static void print_of(FILE *out, int32_t most)
{
	if (most >= 0)
		fprintf(out, " of %d", most);
}

/* What was last read of its GPU: of now only. */
static int draw_gpu(struct view_drawing *drawing, int row, const struct model_gpu *gpu)
{
	char line[256] = "";
	FILE *out = gpu->known && drawing->at < 0 ? fmemopen(line, sizeof(line), "w") : NULL;

	if (!out)
		return row;
	fputs("GPU", out);
	if (gpu->sm_mhz >= 0) {
		fprintf(out, " %d", gpu->sm_mhz);
		print_of(out, gpu->sm_mhz_max);
		fputs(" MHz", out);
	}
	if (gpu->celsius >= 0)
		fprintf(out, ", %d C", gpu->celsius);
	if (gpu->watts >= 0) {
		fprintf(out, ", %d", gpu->watts);
		print_of(out, gpu->watts_cap);
		fputs(" W", out);
	}
	if (gpu->memory_used >= 0 && gpu->memory_total > 0)
		fprintf(out, ", memory %.1f of %.1f GiB", gpu->memory_used / 0x1p30, gpu->memory_total / 0x1p30);
	if (*gpu->throttle)
		fprintf(out, ", held back by %s", gpu->throttle);
	if (gpu->xid)
		fprintf(out, ", Xid %lld", (long long)gpu->xid);
	fclose(out);
	draw_foreign(drawing, row, 1, gpu->xid || *gpu->throttle ? STYLE_WARN : STYLE_DIM, line);
	return row + 1;
}

/* How far its buffers are scanned for NaN and Inf, and what that takes. */
static int draw_scans(struct view_drawing *drawing, int row, const struct model_rank *rank)
{
	const struct model_scanning *scanning = &rank->scanning;
	char threads[24], gpu[24];

	if (scanning->buffers < 0 || drawing->at >= 0)
		return row;
	if (!scanning->buffers)
		canvas_text(drawing->canvas, row, 1, STYLE_DIM, "scans: no buffer has been scanned");
	else
		canvas_print(drawing->canvas, row, 1, STYLE_DIM,
			     "scans: %lld buffers, %lld operations left out; took %s of host, %s of GPU time",
			     (long long)scanning->buffers, (long long)(scanning->left_out > 0 ? scanning->left_out : 0),
			     view_duration(threads, sizeof(threads), scanning->host_ms),
			     view_duration(gpu, sizeof(gpu), scanning->gpu_ms));
	return row + 1;
}

/* Its step and how many operations it has called are known of now only; of all nodes no step is. */
static void draw_process(struct view_drawing *drawing, int row, const struct model_rank *rank)
{
	char step[40] = "", operations[40] = "";

	if (drawing->at < 0 && !drawing->model->all_nodes && rank->step >= 0)
		snprintf(step, sizeof(step), ", step %lld", (long long)rank->step);
	if (drawing->at < 0)
		snprintf(operations, sizeof(operations), ", %llu operations", (unsigned long long)rank->operations);
	canvas_print(drawing->canvas, row, 1, STYLE_DIM, "host %s, pid %d%s%s", rank->host, rank->pid, step,
		     operations);
}

static int draw_head(struct view_drawing *drawing, int row)
{
	struct view every = *drawing->view;
	struct ranking ranking;

	every.fold = FOLD_NEVER;
	*every.search = '\0';
	if (ranking_make(&ranking, drawing->model, &every, drawing->at, drawing->now_ms) == 0 && ranking.count) {
		if (drawing->view->rank < 0 || !row_of(&ranking, drawing->model, drawing->view->rank))
			drawing->view->rank = drawing->model->ranks[ranking.rows[0].index].rank;
		const struct ranking_row *ranked = row_of(&ranking, drawing->model, drawing->view->rank);

		rank_row_head(drawing, row++, &ranking);
		rank_row_draw(drawing, row++, ranked, false);
		const struct model_rank *rank = &drawing->model->ranks[ranked->index];

		draw_process(drawing, row++, rank);
		row = draw_gpu(drawing, row, &rank->gpu);
		row = draw_scans(drawing, row, rank);
		drawing->view->under_cursor = -1;
	}
	ranking_free(&ranking);
	return row;
}

/* The end of a path says most: from `room` columns on directories go. */
static void write_path(FILE *out, const char *path, size_t room)
{
	if (*path) {
		fputs(" on ", out);
		path_text_print(out, path, room);
	}
}

/* What a thread stood in, from its name on, in so many columns if that can be had; then its stack. */
static void write_stand(FILE *out, const json_t *thread, int columns)
{
	bool calls = *string(thread, "system_call"), runs = !strcmp(string(thread, "state"), "R");
	const json_t *frame;
	size_t i;
	int length = fprintf(out, "%-16.16s %.1s %.20s%s", string(thread, "thread"), string(thread, "state"),
			     calls  ? string(thread, "system_call")
			     : runs ? "running"
				    : "in no call",
			     calls ? "(2)" : "");

	columns -= length + (int)sizeof(" on ");
	write_path(out, string(thread, "path"), columns > 12 ? (size_t)columns : 12);
	json_array_foreach(json_object_get(thread, "stack"), i, frame) if (json_is_string(frame))
		fprintf(out, "%s%.40s", i ? " < " : "   ", json_string_value(frame));
}

static double lasted_ms(const json_t *thread)
{
	double ms = number(thread, "until_unix_ms") - number(thread, "from_unix_ms");

	return ms > 0 ? ms : 0;
}

/* What was seen last of a thread may be the end of a longer stretch. */
static const json_t *whole_stretch(const json_t *detail, const json_t *thread)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(detail, "blocked"), i,
			   one) if (json_equal(json_object_get(one, "tid"), json_object_get(thread, "tid")) &&
				    number(one, "until_unix_ms") >= number(thread, "until_unix_ms") &&
				    lasted_ms(one) > lasted_ms(thread)) return one;
	return thread;
}

/* How long, and where it has an end when that was; then what it stood in. */
static int draw_stand(struct view_drawing *drawing, int row, const json_t *thread, bool over)
{
	double ended_ms = drawing->model->at_ms - number(thread, "until_unix_ms");
	char line[1024] = "", took[24], ago[24];
	FILE *out = fmemopen(line, sizeof(line) - 1, "w");

	if (!out)
		return row;
	int length = fprintf(out, "%8s  ", view_duration(took, sizeof(took), lasted_ms(thread)));

	if (over)
		length += fprintf(out, "%8s ago  ", view_duration(ago, sizeof(ago), ended_ms > 0 ? ended_ms : 0));
	write_stand(out, thread, drawing->canvas->width - 1 - length);
	fclose(out);
	draw_foreign(drawing, row, 1, STYLE_PLAIN, line);
	return row + 1;
}

static bool is_longer(const json_t *one, const json_t *other)
{
	return !other || lasted_ms(one) > lasted_ms(other);
}

/* A thread's newest stretch is how it was last seen: it stands among the threads. */
static bool is_newest_of_thread(const json_t *blocked, size_t at)
{
	const json_t *tid = json_object_get(json_array_get(blocked, at), "tid");

	for (size_t i = 0; i < at; i++)
		if (json_equal(json_object_get(json_array_get(blocked, i), "tid"), tid))
			return false;
	return true;
}

/* The earlier ones, longest first, into list[most]; returns how many. */
static size_t longest_blocked(const json_t *blocked, const json_t **list, size_t most)
{
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(blocked); i++) {
		const json_t *one = json_array_get(blocked, i);
		size_t place = count;

		if (is_newest_of_thread(blocked, i))
			continue;
		while (place > 0 && is_longer(one, list[place - 1]))
			place--;
		if (place == most)
			continue;
		memmove(&list[place + 1], &list[place], (most - 1 - place) * sizeof(*list));
		list[place] = one;
		count += count < most;
	}
	return count;
}

static int draw_blocked(struct view_drawing *drawing, int row, const json_t *detail, size_t most)
{
	const json_t *list[BLOCKED + 1] = { NULL };
	size_t count = longest_blocked(json_object_get(detail, "blocked"), list, most < BLOCKED ? most : BLOCKED);

	if (!count)
		return row;
	canvas_style_row(drawing->canvas, row, STYLE_HEAD);
	canvas_text(drawing->canvas, row++, 1, STYLE_HEAD,
		    "BLOCKED BEFORE, longest first: for how long, when, thread, call");
	for (size_t i = 0; i < count && row < drawing->bottom; i++)
		row = draw_stand(drawing, row, list[i], true);
	return row;
}

static void draw_operation(struct view_drawing *drawing, int row, const json_t *operation, double end_ms)
{
	double called = number(operation, "called_unix_ms"), arrived = number(operation, "arrived_unix_ms"),
	       done = number(operation, "done_unix_ms"), late = number(operation, "late_ms");
	char line[512], ago[24], ran[24] = "-", by[24] = "";

	if (arrived > 0)
		view_duration(ran, sizeof(ran), (done > 0 ? done : end_ms) - arrived);
	if (late >= 1)
		view_duration(by, sizeof(by), late);
	snprintf(line, sizeof(line), "%-13.13s #%-6lld %-12.12s %-8.8s %8s ago %8s %s%s", string(operation, "function"),
		 (long long)number(operation, "sequence"), string(operation, "comm_name"), string(operation, "phase"),
		 view_duration(ago, sizeof(ago), end_ms - called > 0 ? end_ms - called : 0), ran, *by ? "late " : "",
		 by);
	draw_foreign(drawing, row, 1, !strcmp(string(operation, "phase"), "done") ? STYLE_PLAIN : STYLE_WARN, line);
}

static void draw_lists(struct view_drawing *drawing, int row)
{
	const json_t *detail = drawing->model->detail, *item;
	/* Half of the rows are for threads and what they stood in before. */
	size_t i, room = drawing->bottom - row > 12 ? (size_t)(drawing->bottom - row) / 4 : 3;

	canvas_style_row(drawing->canvas, row, STYLE_HEAD);
	canvas_text(drawing->canvas, row++, 1, STYLE_HEAD, "THREADS as last seen: for how long, thread, state, call");
	json_array_foreach(json_object_get(detail, "threads"), i, item) if (row < drawing->bottom && i < room) row =
	    draw_stand(drawing, row, whole_stretch(detail, item), false);
	if (!json_array_size(json_object_get(detail, "threads")))
		canvas_text(drawing->canvas, row++, 1, STYLE_DIM, "none was sampled: nobody waits for this rank");
	row = draw_blocked(drawing, row, detail, room - 1);
	canvas_style_row(drawing->canvas, row, STYLE_HEAD);
	canvas_text(drawing->canvas, row++, 1, STYLE_HEAD,
		    "LAST OPERATIONS                     PHASE      CALLED     ON GPU");
	json_array_foreach(json_object_get(detail, "last_operations"), i, item) if (row < drawing->bottom)
	    draw_operation(drawing, row++, item, drawing->model->at_ms);
}

/* Of all nodes: what its host was asked, because it is late or does not come, and where there is more. */
static void draw_answer(struct view_drawing *drawing, int row)
{
	const json_t *detail = drawing->model->detail;
	char *answer = strdup(string(detail, "answer")), *host = foreign_text(string(detail, "host")), *rest, *line;

	canvas_style_row(drawing->canvas, row, STYLE_HEAD);
	canvas_text(drawing->canvas, row++, 1, STYLE_HEAD,
		    "WHAT ITS HOST ANSWERED, asked why it is late or does not come");
	if (!answer || !*answer)
		canvas_text(drawing->canvas, row++, 1, STYLE_DIM,
			    "nothing of late: it is asked while others wait for this rank");
	for (line = answer ? strtok_r(answer, "\n", &rest) : NULL; line && row < drawing->bottom;
	     line = strtok_r(NULL, "\n", &rest))
		draw_foreign(drawing, row++, 1, STYLE_PLAIN, line);
	canvas_print(drawing->canvas, row + 1, 1, STYLE_DIM,
		     "Threads and operations are not known here: \"rankwatch top\" on host %s.", host ? host : "");
	free(answer);
	free(host);
}

void rank_draw(struct view_drawing *drawing)
{
	int row = draw_head(drawing, drawing->top);

	if (drawing->at >= 0)
		canvas_text(drawing->canvas, row + 1, 1, STYLE_DIM,
			    "threads and operations are known of now only: Esc goes there");
	else if (drawing->model->all_nodes && drawing->model->detail &&
		 drawing->model->detail_rank == drawing->view->rank)
		draw_answer(drawing, row + 1);
	else if (drawing->model->detail && drawing->model->detail_rank == drawing->view->rank)
		draw_lists(drawing, row + 1);
	else
		canvas_text(drawing->canvas, row + 1, 1, STYLE_DIM, "its threads and operations are being asked for");
}
