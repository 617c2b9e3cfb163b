/* SPDX-License-Identifier: MIT */
#include "console/top/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "console/top/ranking.h"

static const struct {
	const char *name;
	void (*draw)(struct view_drawing *drawing);
} views[VIEW_COUNT] = {
	[VIEW_OVERVIEW] = { "overview", overview_draw }, [VIEW_RANKS] = { "ranks", ranks_draw },
	[VIEW_COMMUNICATORS] = { "comms", communicators_draw },
	[VIEW_RANK] = { "rank", rank_draw },		 [VIEW_VALUES] = { "values", values_draw },
	[VIEW_FINDINGS] = { "findings", findings_draw }, [VIEW_HOSTS] = { "hosts", hosts_draw },
};

/* Seconds that a duration or a time of day can have: some three thousand years. */
#define LONGEST_S 1e11

/* Where all is on one host there is nothing to list. */
static int view_count(const struct model *model)
{
	return model_has_hosts(model) || model->host_count > 1 ? VIEW_COUNT : VIEW_HOSTS;
}

char *view_duration(char *text, size_t size, double ms)
{
	double seconds = ms / 1e3;

	if (!(fabs(seconds) < LONGEST_S)) /* a collector's number may be anything */
		snprintf(text, size, "?");
	else if (seconds < 0.9995)
		snprintf(text, size, "%.0f ms", ms);
	else if (seconds < 119.5)
		snprintf(text, size, seconds < 9.995 ? "%.2f s" : seconds < 99.95 ? "%.1f s" : "%.0f s", seconds);
	else if (seconds < 3600)
		snprintf(text, size, "%d m %02d s", (int)seconds / 60, (int)seconds % 60);
	else
		snprintf(text, size, "%.0f h %02d m", floor(seconds / 3600), (int)fmod(seconds, 3600) / 60);
	return text;
}

static char *clock_text(char *text, size_t size, double unix_ms)
{
	time_t seconds = fabs(unix_ms) < LONGEST_S * 1e3 ? (time_t)(unix_ms / 1e3) : 0;
	struct tm local;

	if (!seconds || !localtime_r(&seconds, &local) || !strftime(text, size, "%H:%M:%S", &local))
		snprintf(text, size, "?");
	return text;
}

long view_column(const struct view *view, const struct model *model)
{
	if (view->at_ms <= 0 || !model->column_count)
		return -1;
	for (size_t i = model->column_count; i > 0; i--)
		if (model->columns[i - 1].from_ms <= view->at_ms)
			return (long)i - 1;
	return 0;
}

size_t view_scroll(struct view *view, size_t rows, int page)
{
	view->page = page > 1 ? page : 1;
	view->rows = rows;
	if (view->follow)
		view->cursor = 0;
	if (view->cursor >= rows)
		view->cursor = rows ? rows - 1 : 0;
	/* The cursor's page: it moves within, and the rows stay where they are. */
	return view->cursor / (size_t)view->page * (size_t)view->page;
}

static void draw_mode(const struct view_drawing *drawing, char *text, size_t size)
{
	const struct model *model = drawing->model;
	const struct model_column *column = drawing->at >= 0 ? model_column(model, drawing->at) : NULL;
	char clock[16], gone[24];

	clock_text(clock, sizeof(clock),
		   column                              ? column->until_ms
		   : model->dead || model->gone_ms > 0 ? model->at_ms
						       : drawing->now_ms);
	if (model->gone_ms > 0 && model->over)
		snprintf(text, size, "JOB OVER  %s ", clock);
	else if (model->gone_ms > 0)
		snprintf(text, size, "collector gone, waiting %s ",
			 view_duration(gone, sizeof(gone), drawing->now_ms - model->gone_ms));
	else if (column && column->step)
		snprintf(text, size, "PAST step %llu of %lld  %s ", (unsigned long long)column->last_step,
			 (long long)model->step, clock);
	else if (column)
		snprintf(text, size, "PAST  %s ", clock);
	else
		snprintf(text, size, "%s  %s ", model->dead ? "OVER" : "LIVE", clock);
}

/* Of a text without wide characters. */
static int columns_of(const char *text)
{
	int columns = 0;

	for (; *text; text++)
		columns += (*text & 0xc0) != 0x80;
	return columns;
}

static void draw_title(const struct view_drawing *drawing)
{
	const struct model *model = drawing->model;
	struct canvas *canvas = drawing->canvas;
	const char *level = model->dead ? "black boxes" : model->level;
	char mode[64], jobs[48] = "", ranks[64] = "", steps[64] = "", title[320];

	canvas_style_row(canvas, 0, STYLE_BAR);
	if (model->jobs_here > 1)
		snprintf(jobs, sizeof(jobs), " (1 of %zu jobs here)", model->jobs_here);
	if (model->ranks_total > 0)
		snprintf(ranks, sizeof(ranks), " · %lld of %lld ranks", (long long)model->processes,
			 (long long)model->ranks_total);
	else if (model->processes)
		snprintf(ranks, sizeof(ranks), " · %lld of ? ranks", (long long)model->processes);
	if (model->step >= 0 && drawing->at < 0)
		snprintf(steps, sizeof(steps), " · step %lld", (long long)model->step);
	draw_mode(drawing, mode, sizeof(mode));
	int right = canvas->width - (int)strlen(mode);
	/* The program's own name goes first where there is no room for all. */
	for (int i = 0; i < 2; i++) {
		snprintf(title, sizeof(title), "%s%s%s%s%s%s%s%s", i ? " " : " rankwatch · ",
			 *model->job ? model->job : "no job", jobs, model->all_nodes ? " · all nodes" : "", ranks,
			 steps, *level ? " · " : "", level);
		if (columns_of(title) < right)
			break;
	}

	canvas_cut(canvas, 0, 0, right > 1 ? right - 1 : canvas->width, STYLE_BAR, title);
	canvas_text(canvas, 0, right > 0 ? right : 0, STYLE_BAR, mode);
}

static void draw_keys(const struct view_drawing *drawing)
{
	struct canvas *canvas = drawing->canvas;
	const struct view *view = drawing->view;
	int row = canvas->height - 1, column = 0;
	bool narrow = canvas->width < 76; /* without names of views there is room for the keys that lead out */

	canvas_style_row(canvas, row, STYLE_BAR);
	if (view->searching) {
		column = canvas_print(canvas, row, 0, STYLE_BAR, " search: %s", view->search);
		canvas_text(canvas, row, column, STYLE_CHOSEN, " ");
		return;
	}
	for (int i = 0; i < view_count(drawing->model); i++)
		column = canvas_print(canvas, row, column, i == (int)view->kind ? STYLE_CHOSEN : STYLE_BAR, " %d%s%s ",
				      i + 1, narrow ? "" : " ", narrow ? "" : views[i].name);
	if (*view->search)
		column = canvas_print(canvas, row, column, STYLE_WARN, " /%s ", view->search);
	canvas_text(canvas, row, column, STYLE_BAR,
		    canvas->width >= 140 ? " ? help  / search  s sort  z fold  f follow  p pause  ← → time  q quit"
		    : canvas->width - column >= 15 ? " ? help  q quit" : canvas->width - column >= 7 ? " ? help" : "");
}

void view_draw(const struct model *model, struct view *view, struct canvas *canvas, double now_ms)
{
	struct view_drawing drawing = { .model = model,
					.view = view,
					.canvas = canvas,
					.now_ms = now_ms,
					.at = view_column(view, model),
					.top = 1,
					.bottom = canvas->height - 1 };

	view->under_cursor = -1;
	*view->under_host = '\0';
	view->rows = 0;
	view->page = 1;
	draw_title(&drawing);
	if (view->help)
		help_draw(&drawing);
	else
		views[view->kind].draw(&drawing);
	draw_keys(&drawing);
}

static void move(struct view *view, long by)
{
	long to = (long)view->cursor + by;

	view->follow = false;
	if (to >= (long)view->rows)
		to = (long)view->rows - 1;
	view->cursor = to > 0 ? (size_t)to : 0;
}

/* by 0: stays at what is the newest now. */
static void scrub(struct view *view, const struct model *model, long by)
{
	long at = view_column(view, model), last = (long)model->column_count - 1;

	if (last < 0)
		return;
	at = (at < 0 ? last : at) + by;
	if (at > last)
		view->at_ms = 0;
	else
		view->at_ms = model->columns[at > 0 ? at : 0].from_ms;
}

static void search_key(struct view *view, int key)
{
	size_t length = strlen(view->search);

	if (key == KEY_VIEW_ESCAPE)
		*view->search = '\0';
	if (key == KEY_VIEW_ESCAPE || key == KEY_VIEW_ENTER)
		view->searching = false;
	else if (key == KEY_VIEW_BACK && length)
		view->search[length - 1] = '\0';
	else if (key >= ' ' && key < 0x7f && length + 1 < sizeof(view->search))
		view->search[length] = (char)key, view->search[length + 1] = '\0';
	view->cursor = 0;
}

static void show(struct view *view, enum view_kind kind)
{
	view->kind = kind;
	view->cursor = 0;
}

static void enter(struct view *view)
{
	if (*view->under_host) {
		snprintf(view->search, sizeof(view->search), "%s", view->under_host);
		show(view, VIEW_RANKS);
		return;
	}
	if (view->under_cursor < 0)
		return;
	view->rank = view->under_cursor;
	show(view, VIEW_RANK);
}

/* Keys that belong to no view. */
static void letter_key(struct view *view, const struct model *model, int key)
{
	switch (key) {
	case 'q':
		view->quit = true;
		break;
	case '?':
	case 'h':
		view->help = true;
		break;
	case '/':
		view->searching = true;
		break;
	case 's':
		view->sort = (view->sort + 1) % SORT_COUNT;
		break;
	case 'z':
		view->fold = view->fold == FOLD_AUTO ? (model->rank_count > 32 ? FOLD_NEVER : FOLD_ALWAYS)
			     : view->fold == FOLD_ALWAYS ? FOLD_NEVER
							 : FOLD_ALWAYS;
		break;
	case 'f':
		view->follow = !view->follow;
		break;
	case 'p':
	case ' ':
		if (view->at_ms > 0)
			view->at_ms = 0;
		else
			scrub(view, model, 0);
		break;
	case '\t':
		show(view, (enum view_kind)(((int)view->kind + 1) % view_count(model)));
		break;
	default:
		if (key >= '1' && key < '1' + view_count(model))
			show(view, (enum view_kind)(key - '1'));
	}
}

static void move_key(struct view *view, const struct model *model, int key)
{
	switch (key) {
	case KEY_VIEW_UP:
	case 'k':
		move(view, -1);
		break;
	case KEY_VIEW_DOWN:
	case 'j':
		move(view, 1);
		break;
	case KEY_VIEW_PAGE_UP:
		move(view, -view->page);
		break;
	case KEY_VIEW_PAGE_DOWN:
		move(view, view->page);
		break;
	case KEY_VIEW_HOME:
	case 'g':
		move(view, -(long)view->rows);
		break;
	case KEY_VIEW_END:
	case 'G':
		move(view, (long)view->rows);
		break;
	case KEY_VIEW_LEFT:
		scrub(view, model, -1);
		break;
	case KEY_VIEW_RIGHT:
		scrub(view, model, 1);
		break;
	case '[':
		scrub(view, model, -MODEL_LATELY);
		break;
	case ']':
		scrub(view, model, MODEL_LATELY);
		break;
	case KEY_VIEW_ENTER:
		enter(view);
		break;
	case KEY_VIEW_ESCAPE:
		*view->search = '\0';
		view->at_ms = 0;
		break;
	default:
		letter_key(view, model, key);
	}
}

void view_key(struct view *view, const struct model *model, int key)
{
	if (view->help) {
		view->help = false;
		view->quit = key == 'q' ? false : view->quit;
	} else if (view->searching) {
		search_key(view, key);
	} else {
		move_key(view, model, key);
	}
}
