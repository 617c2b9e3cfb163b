/* SPDX-License-Identifier: MIT */
#include "console/top/rank_row.h"

#include <stdio.h>
#include <string.h>

enum { RANK_AT = 1, STATE_AT = 8, BAR_AT = 10, BAR = 8, LATE_AT = 19, WAIT_AT = 28, OWN_AT = 34, REST_AT = 40,
	WIDE = 120, WIDER = 140, GPU = 31, SCAN = 6, HOST = 16, STRIP_MOST = 64, STRIP_LEAST = 12 };

static bool has_gpus(const struct model *model)
{
	for (size_t i = 0; i < model->rank_count; i++)
		if (model->ranks[i].gpu.known)
			return true;
	return false;
}

/* What has room: where "now", the GPU and the strip begin. */
struct layout {
	bool prefix; /* its host stands before what a rank does */
	int host, gpu, scan, now, strip, strip_width; /* host, gpu, scan: -1 no room */
};

static struct layout layout_of(const struct view_drawing *drawing)
{
	int width = drawing->canvas->width;
	struct layout layout = { .host = -1, .gpu = -1, .scan = -1, .now = REST_AT };

	if (width >= WIDE && model_has_hosts(drawing->model)) {
		layout.host = layout.now;
		layout.now += HOST;
	}
	layout.prefix = layout.host < 0 && model_has_hosts(drawing->model);
	if (width >= WIDE && has_gpus(drawing->model)) {
		layout.gpu = layout.now;
		layout.now += GPU;
	}
	if (width >= WIDER && !drawing->model->all_nodes) {
		layout.scan = layout.now;
		layout.now += SCAN;
	}
	layout.strip_width = (width - layout.now) * 2 / 5;
	if (layout.strip_width > STRIP_MOST)
		layout.strip_width = STRIP_MOST;
	if (layout.strip_width < STRIP_LEAST)
		layout.strip_width = STRIP_LEAST;
	layout.strip = width - layout.strip_width;
	return layout;
}

void rank_row_head(struct view_drawing *drawing, int row, const struct ranking *ranking)
{
	static const char *const sorts[] = {
		[SORT_LOST] = "lost time", [SORT_RANK] = "rank", [SORT_WAIT] = "waiting", [SORT_STATE] = "state"
	};
	struct canvas *canvas = drawing->canvas;
	struct layout layout = layout_of(drawing);
	bool all = drawing->model->all_nodes;
	char now[64];

	canvas_style_row(canvas, row, STYLE_HEAD);
	canvas_text(canvas, row, RANK_AT, STYLE_HEAD, "RANK");
	canvas_text(canvas, row, STATE_AT, STYLE_HEAD, "S");
	canvas_text(canvas, row, BAR_AT, STYLE_HEAD, all ? "LOST A SECOND" : "LOST A STEP");
	canvas_text(canvas, row, WAIT_AT, STYLE_HEAD, all ? "   IN" : " WAIT");
	canvas_text(canvas, row, OWN_AT, STYLE_HEAD, "  OWN");
	if (layout.host >= 0)
		canvas_text(canvas, row, layout.host, STYLE_HEAD, "HOST");
	if (layout.gpu >= 0)
		canvas_text(canvas, row, layout.gpu, STYLE_HEAD, "GPU: CLOCK, HEAT, MEMORY");
	if (layout.scan >= 0)
		canvas_text(canvas, row, layout.scan, STYLE_HEAD, "SCAN");
	snprintf(now, sizeof(now), "%s%s, by %s%s", layout.prefix ? "HOST " : "",
		 drawing->at < 0 ? drawing->model->dead ? "END" : "NOW" : "THEN", sorts[drawing->view->sort],
		 ranking->folded ? ", folded" : "");
	canvas_cut(canvas, row, layout.now, layout.strip - layout.now - 1, STYLE_HEAD, now);
	canvas_cut(canvas, row, layout.strip, layout.strip_width, STYLE_HEAD,
		   layout.strip_width >= 26 ? all ? "WAITED FOR, by second" : "WAITED FOR, step by step"
		   : all                    ? "BY SECOND"
					    : "BY STEP");
}

static double cell_share(const struct model *model, const struct model_column *column, size_t index)
{
	const struct model_cell *cell = &column->cells[index];
	double whole = (double)(cell->own_ms + cell->wait_ms + cell->transfer_ms + cell->unseen_ms);
	double others = model_others(model, index);

	return whole > 0 ? (double)cell->lost_ms / others / whole : 0;
}

/* Of folded ranks the worst of all counts. */
static double strip_share(const struct model *model, const struct model_column *column,
			  const struct ranking_row *ranked)
{
	double most = 0;
	size_t seen = 0;

	for (size_t i = ranked->index; i < column->rank_count && seen < ranked->count; i++) {
		if (i != ranked->index && strcmp(model->ranks[i].host, model->ranks[ranked->index].host) != 0)
			break;
		double share = cell_share(model, column, i);

		most = share > most ? share : most;
		seen++;
	}
	return most;
}

static bool is_bad(const struct model_column *column, const struct ranking_row *ranked)
{
	return ranked->count == 1 && ranked->index < column->rank_count && column->cells[ranked->index].bad;
}

static void draw_strip(struct view_drawing *drawing, int row, const struct layout *layout,
		       const struct ranking_row *ranked)
{
	const struct model *model = drawing->model;
	long last = drawing->at < 0 ? (long)model->column_count - 1 : drawing->at;

	for (int i = 0; i < layout->strip_width; i++) {
		long at = last - layout->strip_width + 1 + i;

		if (at < 0)
			continue;
		const struct model_column *column = &model->columns[at];

		if (is_bad(column, ranked))
			canvas_text(drawing->canvas, row, layout->strip + i, STYLE_BAD, "N");
		else
			canvas_spark(drawing->canvas, row, layout->strip + i, STYLE_HEAT_0,
				     strip_share(model, column, ranked));
	}
}

static void draw_gpu(struct view_drawing *drawing, int row, int column, const struct model_gpu *gpu)
{
	char text[96] = "";
	size_t used = 0;

	if (!gpu->known)
		return;
	if (gpu->sm_mhz >= 0)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%d MHz ", gpu->sm_mhz);
	if (gpu->celsius >= 0)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%d C ", gpu->celsius);
	if (gpu->memory_used >= 0 && gpu->memory_total > 0)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%.0f %% ",
					 100 * gpu->memory_used / gpu->memory_total);
	if (gpu->xid)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "Xid %lld ", (long long)gpu->xid);
	snprintf(text + used, sizeof(text) - used, "%s", gpu->throttle);
	canvas_cut(drawing->canvas, row, column, GPU - 1, gpu->xid || *gpu->throttle ? STYLE_WARN : STYLE_PLAIN, text);
}

/* Of whom nothing is known. */
static const char *silence(const struct model *model, const struct model_rank *rank)
{
	for (size_t i = 0; i < model->host_count; i++)
		if (!strcmp(model->hosts[i].name, rank->host))
			return !strcmp(model->hosts[i].state, "silent") ? "its host is silent"
			       : !strcmp(model->hosts[i].state, "ended") ? "its collector has ended"
									 : "";
	return "";
}

static void now_text(const struct view_drawing *drawing, const struct ranking_row *ranked, char *text, size_t size)
{
	const struct model_rank *rank = &drawing->model->ranks[ranked->index];
	double now_ms = drawing->model->dead || drawing->model->gone_ms > 0 ? drawing->model->at_ms : drawing->now_ms;
	char since[24] = "";

	if (rank->since_ms > 0 && now_ms - rank->since_ms >= MODEL_STANDS_MS)
		view_duration(since, sizeof(since), now_ms - rank->since_ms);
	if (!strcmp(rank->doing, "gone"))
		snprintf(text, size, "%s", !strcmp(rank->life, "exited") ? "ended" : "dead");
	else if (!strcmp(rank->doing, "missing") && *since)
		snprintf(text, size, "not come to %s, %s%s%s", rank->operation, since, *rank->thread ? "; " : "",
			 rank->thread);
	else if (!strcmp(rank->doing, "waits") || !strcmp(rank->doing, "inside"))
		snprintf(text, size, "%s%s%s", rank->operation, *since ? ", " : "", since);
	else if (!strcmp(rank->doing, "init"))
		snprintf(text, size, "makes a communicator%s%s", *since ? ", " : "", since);
	else if (*rank->thread && now_ms - rank->seen_ms < MODEL_STANDS_MS)
		snprintf(text, size, "%s", rank->thread);
	else
		snprintf(text, size, "%s",
			 !strcmp(rank->doing, "stopped")   ? "stopped"
			 : !strcmp(rank->doing, "unknown") ? silence(drawing->model, rank)
			 : drawing->model->all_nodes       ? "runs"
							   : "works");
}

static void past_text(const struct view_drawing *drawing, const struct ranking_row *ranked, char *text, size_t size)
{
	const struct model_column *column = model_column(drawing->model, drawing->at);
	char own[24], wait[24];

	*text = '\0';
	if (!column || ranked->index >= column->rank_count)
		return;
	const struct model_cell *cell = &column->cells[ranked->index];

	snprintf(text, size, drawing->model->all_nodes ? "own %s, in %s" : "own %s, wait %s",
		 view_duration(own, sizeof(own), (double)cell->own_ms),
		 view_duration(wait, sizeof(wait), (double)cell->wait_ms));
}

static void draw_share(struct view_drawing *drawing, int row, int column, enum canvas_style style, double share)
{
	canvas_print(drawing->canvas, row, column, share >= 0.005 ? style : STYLE_DIM, "%3.0f %%", share * 100);
}

static void draw_who(struct view_drawing *drawing, int row, const struct ranking_row *ranked, enum canvas_style plain)
{
	const struct model_rank *rank = &drawing->model->ranks[ranked->index];
	const char letter[] = { ranked->standing.letter, '\0' };

	if (ranked->count > 1)
		canvas_print(drawing->canvas, row, RANK_AT, STYLE_DIM, "%4zux", ranked->count);
	else if (rank->rank < 0)
		canvas_text(drawing->canvas, row, RANK_AT, plain, "   ?");
	else
		canvas_print(drawing->canvas, row, RANK_AT, ranked->standing.sick ? STYLE_BOLD : plain, "%5d",
			     rank->rank);
	canvas_text(drawing->canvas, row, STATE_AT, ranked->standing.style, letter);
}

void rank_row_draw(struct view_drawing *drawing, int row, const struct ranking_row *ranked, bool chosen)
{
	struct canvas *canvas = drawing->canvas;
	const struct model_rank *rank = &drawing->model->ranks[ranked->index];
	struct layout layout = layout_of(drawing);
	char text[MODEL_TEXT * 3], late[24];

	draw_who(drawing, row, ranked, chosen ? STYLE_CHOSEN : STYLE_PLAIN);
	if (chosen)
		canvas_text(canvas, row, 0, STYLE_CHOSEN, "▸");
	canvas_bar(
	    canvas, row, BAR_AT, BAR,
	    (enum canvas_style)(STYLE_HEAT_0 + (ranked->lost_share >= 0.25 ? CANVAS_HEATS - 1 : CANVAS_HEATS - 3)),
	    ranked->lost_share);
	if (ranked->lost_ms >= 0.5)
		canvas_text(canvas, row, LATE_AT, STYLE_PLAIN, view_duration(late, sizeof(late), ranked->lost_ms));
	draw_share(drawing, row, WAIT_AT, STYLE_WAIT, ranked->wait_share);
	draw_share(drawing, row, OWN_AT, STYLE_PLAIN, ranked->own_share);
	if (layout.host >= 0)
		canvas_cut(canvas, row, layout.host, HOST - 1, STYLE_PLAIN, rank->host);
	if (layout.gpu >= 0 && ranked->count == 1)
		draw_gpu(drawing, row, layout.gpu, &rank->gpu);
	if (layout.scan >= 0 && ranked->count == 1)
		canvas_text(canvas, row, layout.scan, STYLE_DIM, model_scan_state(&rank->scanning));
	if (ranked->count > 1)
		snprintf(text, sizeof(text), "%zu ranks of %s, none stands out", ranked->count, rank->host);
	else if (drawing->at < 0)
		now_text(drawing, ranked, text, sizeof(text));
	else
		past_text(drawing, ranked, text, sizeof(text));
	int now = layout.now;

	if (layout.prefix && ranked->count == 1)
		now = canvas_cut(canvas, row, now, layout.strip - now - 1, STYLE_DIM, rank->host) + 1;
	canvas_cut(canvas, row, now, layout.strip - now - 1, ranked->standing.sick ? STYLE_PLAIN : STYLE_DIM, text);
	draw_strip(drawing, row, &layout, ranked);
}
