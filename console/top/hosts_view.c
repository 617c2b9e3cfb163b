/* SPDX-License-Identifier: MIT */
/* Hosts: who is heard, and what the others lose by the ranks of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/top/ranking.h"
#include "console/top/view.h"

enum { NAME_AT = 1, NAME = 17, RANKS_AT = 19, STATE_AT = 25, BAR_AT = 27, BAR = 8, LOST_AT = 36, OWN_AT = 45,
	NOW_AT = 51, STRIP_LEAST = 10, STRIP_MOST = 64 };

struct host_row {
	const char *name;
	size_t ranks, sick;
	struct standing worst;
	double lost_ms, lost_share, own_share; /* the largest, and on average */
	int32_t worst_rank;
};

struct host_list {
	struct host_row *rows;
	size_t count;
};

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct host_row *)left)->name, ((const struct host_row *)right)->name);
}

static bool is_bad(const struct host_row *row)
{
	return row->worst.style == STYLE_BAD;
}

static int by_loss(const void *left, const void *right)
{
	const struct host_row *a = left, *b = right;
	double apart = a->lost_share - b->lost_share;

	if (is_bad(a) != is_bad(b))
		return is_bad(a) ? -1 : 1;
	if ((a->sick != 0) != (b->sick != 0))
		return a->sick ? -1 : 1;
	if (apart > 0.001 || apart < -0.001)
		return apart > 0 ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Of one rank, into its host's. */
static void add_rank(struct host_row *host, const struct model *model, const struct ranking_row *rank)
{
	bool worse = !host->ranks || (rank->standing.style == STYLE_BAD && !is_bad(host)) ||
		     (rank->standing.sick && !host->sick) ||
		     (rank->standing.sick == (host->sick > 0) && rank->lost_share > host->lost_share);

	if (worse) {
		host->worst = rank->standing;
		host->worst_rank = model->ranks[rank->index].rank;
	}
	host->lost_ms = rank->lost_ms > host->lost_ms ? rank->lost_ms : host->lost_ms;
	host->lost_share = rank->lost_share > host->lost_share ? rank->lost_share : host->lost_share;
	host->own_share = (host->own_share * (double)host->ranks + rank->own_share) / (double)(host->ranks + 1);
	host->sick += rank->standing.sick;
	host->ranks++;
}

/* Hosts of which no rank is known yet, too. */
static void list_hosts(const struct model *model, const struct ranking *ranking, struct host_list *list)
{
	struct host_row *rows = calloc(ranking->count + model->host_count + 1, sizeof(*rows));
	size_t named = 0, kept = 0;

	*list = (struct host_list){ .rows = rows };
	for (size_t i = 0; rows && i < ranking->count; i++)
		rows[named++].name = model->ranks[ranking->rows[i].index].host;
	for (size_t i = 0; rows && i < model->host_count; i++)
		rows[named++].name = model->hosts[i].name;
	if (!rows)
		return;
	qsort(rows, named, sizeof(*rows), by_name);
	for (size_t i = 0; i < named; i++)
		if (*rows[i].name && (!kept || strcmp(rows[i].name, rows[kept - 1].name)))
			rows[kept++] = (struct host_row){ .name = rows[i].name,
							  .worst = { '-', STYLE_DIM, false },
							  .worst_rank = -1 };
	list->count = kept;
	for (size_t i = 0; i < ranking->count; i++) {
		struct host_row wanted = { .name = model->ranks[ranking->rows[i].index].host };
		struct host_row *host = bsearch(&wanted, rows, kept, sizeof(*rows), by_name);

		if (host)
			add_rank(host, model, &ranking->rows[i]);
	}
	qsort(rows, kept, sizeof(*rows), by_loss);
}

static const struct model_host *heard_of(const struct model *model, const char *name)
{
	for (size_t i = 0; i < model->host_count; i++)
		if (!strcmp(model->hosts[i].name, name))
			return &model->hosts[i];
	return NULL;
}

static void draw_now(struct view_drawing *drawing, int row, int width, const struct host_row *host)
{
	const struct model_host *heard = heard_of(drawing->model, host->name);
	double age_ms = heard ? drawing->now_ms - heard->heard_ms : 0;
	char since[24], text[96] = "";
	size_t used = 0;
	bool silent = heard && !strcmp(heard->state, "silent");

	if (silent)
		used += (size_t)snprintf(text, sizeof(text), "SILENT for %s",
					 view_duration(since, sizeof(since), age_ms > 0 ? age_ms : 0));
	else if (heard && !strcmp(heard->state, "ended"))
		used += (size_t)snprintf(text, sizeof(text), "its collector has ended");
	else if (heard)
		used += (size_t)snprintf(text, sizeof(text), "heard (%s)", *heard->level ? heard->level : "?");
	if (host->sick && host->worst_rank >= 0)
		snprintf(text + used, sizeof(text) - used, "%srank %d", used ? ": " : "", host->worst_rank);
	else if (!host->ranks)
		snprintf(text + used, sizeof(text) - used, "%sno rank is known yet", used ? ": " : "");
	canvas_cut(drawing->canvas, row, NOW_AT, width,
		   silent       ? STYLE_WARN
		   : host->sick ? STYLE_PLAIN
				: STYLE_DIM,
		   text);
}

/* The worst of its ranks in that column. */
static double share_of(const struct model *model, const struct model_column *column, const char *host)
{
	double most = 0;

	for (size_t i = 0; i < column->rank_count && i < model->rank_count; i++) {
		const struct model_cell *cell = &column->cells[i];
		double whole = (double)(cell->own_ms + cell->wait_ms + cell->transfer_ms + cell->unseen_ms);
		double share = whole > 0 ? (double)cell->lost_ms / model_others(model, i) / whole : 0;

		if (share > most && !strcmp(model->ranks[i].host, host))
			most = share;
	}
	return most;
}

static int strip_width(const struct view_drawing *drawing)
{
	int width = (drawing->canvas->width - NOW_AT) / 2;

	return width < STRIP_LEAST ? STRIP_LEAST : width < STRIP_MOST ? width : STRIP_MOST;
}

static void draw_row(struct view_drawing *drawing, int row, const struct host_row *host, bool chosen)
{
	const struct model *model = drawing->model;
	const char letter[] = { host->worst.letter, '\0' };
	struct canvas *canvas = drawing->canvas;
	int width = strip_width(drawing), strip = canvas->width - width;
	long last = drawing->at < 0 ? (long)model->column_count - 1 : drawing->at;
	char lost[24];

	if (chosen)
		canvas_text(canvas, row, 0, STYLE_CHOSEN, "▸");
	canvas_cut(canvas, row, NAME_AT, NAME,
		   chosen       ? STYLE_CHOSEN
		   : host->sick ? STYLE_BOLD
				: STYLE_PLAIN,
		   host->name);
	canvas_print(canvas, row, RANKS_AT, STYLE_PLAIN, "%5zu", host->ranks);
	canvas_text(canvas, row, STATE_AT, host->worst.style, letter);
	canvas_bar(canvas, row, BAR_AT, BAR,
		   (enum canvas_style)(STYLE_HEAT_0 + (host->lost_share >= 0.25 ? CANVAS_HEATS - 1 : CANVAS_HEATS - 3)),
		   host->lost_share);
	if (host->lost_ms >= 0.5)
		canvas_text(canvas, row, LOST_AT, STYLE_PLAIN, view_duration(lost, sizeof(lost), host->lost_ms));
	if (host->ranks)
		canvas_print(canvas, row, OWN_AT, STYLE_DIM, "%3.0f %%", host->own_share * 100);
	draw_now(drawing, row, strip - NOW_AT - 1, host);
	for (int i = 0; i < width && host->ranks; i++) {
		long at = last - width + 1 + i;

		if (at >= 0)
			canvas_spark(canvas, row, strip + i, STYLE_HEAT_0,
				     share_of(model, &model->columns[at], host->name));
	}
}

static void draw_head(struct view_drawing *drawing, int row)
{
	struct canvas *canvas = drawing->canvas;
	bool all = drawing->model->all_nodes;

	canvas_style_row(canvas, row, STYLE_HEAD);
	canvas_text(canvas, row, NAME_AT, STYLE_HEAD, "HOST, worst first");
	canvas_text(canvas, row, RANKS_AT, STYLE_HEAD, "RANKS");
	canvas_text(canvas, row, STATE_AT, STYLE_HEAD, "S");
	canvas_text(canvas, row, BAR_AT, STYLE_HEAD, all ? "LOST A SECOND" : "LOST A STEP");
	canvas_text(canvas, row, OWN_AT, STYLE_HEAD, "  OWN");
	canvas_text(canvas, row, NOW_AT, STYLE_HEAD, drawing->at < 0 ? "NOW" : "NOW (not then)");
	canvas_cut(canvas, row, canvas->width - strip_width(drawing), strip_width(drawing), STYLE_HEAD,
		   all ? "BY SECOND" : "BY STEP");
}

void hosts_draw(struct view_drawing *drawing)
{
	struct view *view = drawing->view, every = *view;
	struct ranking ranking;
	struct host_list list = { 0 };

	every.fold = FOLD_NEVER;
	*every.search = '\0';
	if (ranking_make(&ranking, drawing->model, &every, drawing->at, drawing->now_ms) == 0)
		list_hosts(drawing->model, &ranking, &list);
	int page = drawing->bottom - drawing->top - 1;
	size_t first = view_scroll(view, list.count, page);

	draw_head(drawing, drawing->top);
	for (size_t i = first; i < list.count && i < first + (size_t)(page > 0 ? page : 0); i++)
		draw_row(drawing, drawing->top + 1 + (int)(i - first), &list.rows[i], i == view->cursor);
	if (view->cursor < list.count)
		snprintf(view->under_host, sizeof(view->under_host), "%s", list.rows[view->cursor].name);
	if (!list.count)
		canvas_text(drawing->canvas, drawing->top + 2, 2, STYLE_DIM, "no host has been heard yet");
	free(list.rows);
	ranking_free(&ranking);
}
