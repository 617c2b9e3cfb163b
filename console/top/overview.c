/* SPDX-License-Identifier: MIT */
/* The first screen: is it healthy, which rank, why, how long have I got. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/top/finding_lines.h"
#include "console/top/rank_row.h"
#include "console/top/view.h"
#include "finding/incident_text.h"

enum { LABEL = 12, VALUE = 30, CHART_MOST = 100, VERDICT = 8, OTHERS = 3 /* rows */, NEWEST = 5 /* steps */ };

/* Per step and rank. */
static double step_ms(const struct model_column *column)
{
	double whole = 0, steps = model_steps(column);
	size_t seen = 0;

	for (size_t i = 0; i < column->rank_count; i++) {
		const struct model_cell *cell = &column->cells[i];
		double ms = (double)(cell->own_ms + cell->wait_ms + cell->transfer_ms + cell->unseen_ms);

		whole += ms;
		seen += ms > 0;
	}
	return seen ? whole / (double)seen / steps : 0;
}

/* Where the ranks' time went: since the start, or, in the past, in the column that is looked at. */
struct account {
	double own, wait, transfer, unseen, lost; /* ms, summed over the ranks */
};

static double whole_of(const struct account *account)
{
	return account->own + account->wait + account->transfer + account->unseen;
}

static struct account account_of_column(const struct model_column *column)
{
	struct account account = { 0 };

	for (size_t i = 0; i < column->rank_count; i++) {
		const struct model_cell *cell = &column->cells[i];

		account.own += (double)cell->own_ms;
		account.wait += (double)cell->wait_ms;
		account.transfer += (double)cell->transfer_ms;
		account.unseen += (double)cell->unseen_ms;
		account.lost += (double)cell->lost_ms;
	}
	return account;
}

/* Of all ranks' time in that column. */
static double lost_share(const struct model_column *column)
{
	const struct account account = account_of_column(column);
	double whole = whole_of(&account);

	return whole > 0 ? account.lost / whole : 0;
}

static int chart_width(const struct view_drawing *drawing)
{
	int width = drawing->canvas->width - LABEL - VALUE;

	return width < CHART_MOST ? width : CHART_MOST;
}

/* One chart over the newest columns, `most` at its top (0: the largest). */
static void draw_chart(struct view_drawing *drawing, int row, double (*value)(const struct model_column *), double most,
		       enum canvas_style style)
{
	const struct model *model = drawing->model;
	int width = chart_width(drawing);
	long last = drawing->at < 0 ? (long)model->column_count - 1 : drawing->at, first = last - width + 1;

	first = first > 0 ? first : 0;
	if (most <= 0)
		for (long i = first; i <= last; i++)
			most = value(&model->columns[i]) > most ? value(&model->columns[i]) : most;
	for (long i = first; i <= last && most > 0; i++)
		canvas_spark(drawing->canvas, row, LABEL + (int)(i - first), style, value(&model->columns[i]) / most);
}

static void draw_value(struct view_drawing *drawing, int row, const char *text)
{
	canvas_cut(drawing->canvas, row, LABEL + chart_width(drawing) + 1, VALUE - 1, STYLE_PLAIN, text);
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Of now: the median of the newest steps that the chart shows; -1 where none is known. */
static double newest_step_ms(const struct model *model)
{
	double ms[NEWEST];
	size_t count = 0;

	for (size_t i = model->column_count; i > 0 && count < NEWEST; i--)
		if (model->columns[i - 1].step && step_ms(&model->columns[i - 1]) > 0)
			ms[count++] = step_ms(&model->columns[i - 1]);
	if (count)
		qsort(ms, count, sizeof(*ms), by_value);
	return count ? ms[count / 2] : -1;
}

static int draw_steps(struct view_drawing *drawing, int row)
{
	const struct model *model = drawing->model;
	const struct model_column *column = drawing->at >= 0 ? model_column(model, drawing->at) : NULL;
	double ms = column ? step_ms(column) : newest_step_ms(model);
	char now[24], first[24], text[96] = "no step is known";

	if (ms > 0 && model->first_step_ms > 0)
		snprintf(text, sizeof(text), "%s (%s at first)", view_duration(now, sizeof(now), ms),
			 view_duration(first, sizeof(first), model->first_step_ms));
	else if (ms > 0)
		snprintf(text, sizeof(text), "%s", view_duration(now, sizeof(now), ms));
	canvas_text(drawing->canvas, row, 1, STYLE_DIM, "  step");
	draw_chart(drawing, row, step_ms, 0, STYLE_GOOD);
	draw_value(drawing, row, text);
	return row + 1;
}

/* Of all nodes: who is heard. */
static int draw_hosts(struct view_drawing *drawing, int row)
{
	const struct model *model = drawing->model;
	const struct model_host *silent = NULL;
	size_t silent_count = 0, ended = 0;
	char since[24];

	for (size_t i = 0; i < model->host_count; i++) {
		bool is_silent = !strcmp(model->hosts[i].state, "silent");

		silent = is_silent && !silent ? &model->hosts[i] : silent;
		silent_count += is_silent;
		ended += !strcmp(model->hosts[i].state, "ended");
	}
	canvas_text(drawing->canvas, row, 1, STYLE_DIM, "  hosts");
	if (silent)
		canvas_print(drawing->canvas, row, LABEL, STYLE_WARN, "%zu, of which %zu %s silent: %s for %s (view 7)",
			     model->host_count, silent_count, silent_count == 1 ? "is" : "are", silent->name,
			     view_duration(since, sizeof(since), drawing->now_ms - silent->heard_ms));
	else if (ended)
		canvas_print(drawing->canvas, row, LABEL, STYLE_PLAIN, "%zu, of which %zu %s ended (view 7)",
			     model->host_count, ended, ended == 1 ? "has" : "have");
	else
		canvas_print(drawing->canvas, row, LABEL, STYLE_PLAIN, "%zu, all are heard from (view 7)",
			     model->host_count);
	return row + 1;
}

static bool is_any_compared(const struct model *model)
{
	for (size_t i = 0; i < model->rank_count; i++)
		if (model->ranks[i].compared)
			return true;
	return false;
}

static struct account account_of(const struct view_drawing *drawing)
{
	const struct model *model = drawing->model;
	const struct model_column *column = drawing->at >= 0 ? model_column(model, drawing->at) : NULL;
	struct account account = { 0 };

	if (column)
		return account_of_column(column);
	for (size_t i = 0; i < model->rank_count; i++) {
		const struct model_rank *rank = &model->ranks[i];

		account.own += rank->own_ms;
		account.wait += rank->wait_ms;
		account.transfer += rank->transfer_ms;
		account.unseen += rank->unseen_ms;
		account.lost += rank->lost_ms;
	}
	return account;
}

/* "of GPU time", or of which steps it was. */
static void write_lost(const struct view_drawing *drawing, const struct account *account, char *text, size_t size)
{
	const struct model_column *column = drawing->at >= 0 ? model_column(drawing->model, drawing->at) : NULL;
	double whole = whole_of(account), steps = column ? model_steps(column) : 0;
	const char *unit = column && column->step ? "step" : "second";
	char time[24], of[32] = "of GPU time";

	if (column && steps > 1)
		snprintf(of, sizeof(of), "in %.0f %ss", steps, unit);
	else if (column)
		snprintf(of, sizeof(of), "in this %s", unit);
	snprintf(text, size, "%s %s, %.0f %%", view_duration(time, sizeof(time), account->lost), of,
		 whole > 0 ? account->lost / whole * 100 : 0);
}

static int draw_lost(struct view_drawing *drawing, int row)
{
	const struct account account = account_of(drawing);
	char text[96];

	canvas_text(drawing->canvas, row, 1, STYLE_DIM, "  lost");
	if (drawing->model->all_nodes && !is_any_compared(drawing->model)) {
		canvas_text(drawing->canvas, row, LABEL, STYLE_DIM,
			    "not known here: no ranks have been compared over hosts yet");
		return row + 1;
	}
	draw_chart(drawing, row, lost_share, 1, STYLE_HEAT_0);
	write_lost(drawing, &account, text, sizeof(text));
	draw_value(drawing, row, text);
	return row + 1;
}

/* The ranks' time as one bar. */
static int draw_time(struct view_drawing *drawing, int row)
{
	const struct account account = account_of(drawing);
	const double parts[] = { account.own, account.wait, account.transfer, account.unseen },
		     whole = whole_of(&account);
	static const enum canvas_style styles[] = { STYLE_GOOD, STYLE_WAIT, STYLE_WARN, STYLE_DIM };
	const bool all_nodes = drawing->model->all_nodes;
	int width = chart_width(drawing), at = LABEL;
	char text[96];

	canvas_text(drawing->canvas, row, 1, STYLE_DIM, "  time");
	for (int i = 0; i < 4 && whole > 0; i++) {
		int cells = (int)(parts[i] / whole * width + 0.5);

		for (int k = 0; k < cells && at < LABEL + width; k++, at++)
			canvas_text(drawing->canvas, row, at, styles[i],
				    (const char *[]){ "o", all_nodes ? "i" : "w", "t", "?" }[i]);
	}
	if (whole <= 0)
		return row + 1;
	if (all_nodes)
		snprintf(text, sizeof(text), "own %.0f inside %.0f unseen %.0f %%", parts[0] / whole * 100,
			 parts[1] / whole * 100, parts[3] / whole * 100);
	else
		snprintf(text, sizeof(text), "own %.0f wait %.0f transfer %.0f %%", parts[0] / whole * 100,
			 parts[1] / whole * 100, parts[2] / whole * 100);
	draw_value(drawing, row, text);
	return row + 1;
}

/* Someone is waited for, and there is no finding yet. */
static bool draw_missing(struct view_drawing *drawing, int row)
{
	const struct model *model = drawing->model;
	char since[24];

	for (size_t i = 0; i < model->rank_count && drawing->at < 0 && !model->dead; i++) {
		const struct model_rank *rank = &model->ranks[i];

		if (strcmp(rank->doing, "missing") != 0 || drawing->now_ms - rank->since_ms < MODEL_STANDS_MS)
			continue;
		canvas_text(drawing->canvas, row, 1, STYLE_WARN, "WAITING");
		canvas_print(drawing->canvas, row, LABEL, STYLE_BOLD, "for rank %d in %s for %s; nothing is judged yet",
			     rank->rank, rank->operation,
			     view_duration(since, sizeof(since), drawing->now_ms - rank->since_ms));
		return true;
	}
	return false;
}

static bool has_ended(const struct model *model)
{
	for (size_t i = 0; i < model->rank_count; i++)
		if (strcmp(model->ranks[i].doing, "gone") != 0)
			return false;
	return model->rank_count > 0;
}

/* The worst there was: what a job that has ended is asked for first. */
static const struct model_finding *worst_before(const struct model *model)
{
	const struct model_finding *worst = NULL;

	for (size_t i = 0; i < model->finding_count; i++)
		if (model->findings[i].severity > 0 && (!worst || model->findings[i].severity > worst->severity))
			worst = &model->findings[i];
	return worst;
}

/* Nothing is open, and nobody runs. Returns the next row. */
static int draw_ended(struct view_drawing *drawing, int row, double at_ms)
{
	const struct model_finding *worst = worst_before(drawing->model);

	canvas_text(drawing->canvas, row, 1, STYLE_WAIT, "ENDED");
	canvas_print(drawing->canvas, row++, LABEL, STYLE_BOLD, "all %zu ranks have ended; %s",
		     drawing->model->rank_count, worst ? "before that:" : "nothing was found");
	if (worst)
		row += finding_lines_draw(drawing->canvas, row, VERDICT, worst, at_ms, drawing->model->dead);
	return row;
}

static void draw_healthy(struct view_drawing *drawing, int row, double at_ms)
{
	const struct model *model = drawing->model;
	size_t notices = 0, closed = 0;
	char more[64] = "";

	for (size_t i = 0; i < model->finding_count; i++) {
		notices += !model->findings[i].severity && ranking_is_open(&model->findings[i], at_ms);
		closed += model->findings[i].severity && model->findings[i].closed_ms > 0 &&
			  model->findings[i].closed_ms <= at_ms;
	}
	if (closed)
		snprintf(more, sizeof(more), "; %zu finding%s before, over by now", closed, closed == 1 ? "" : "s");
	else if (notices)
		snprintf(more, sizeof(more), "; %zu notice%s (view 6)", notices, notices == 1 ? "" : "s");
	canvas_text(drawing->canvas, row, 1, STYLE_GOOD, "HEALTHY");
	canvas_print(drawing->canvas, row, LABEL, STYLE_BOLD, "no rank stands out%s", more);
}

/* What follows from it is in its story. */
static bool is_same_incident(const struct model_finding *worst, const struct model_finding *finding)
{
	const char *id = worst ? incident_text_id(worst->json) : "";

	return worst && (worst == finding || (*id && strcmp(id, incident_text_id(finding->json)) == 0));
}

static int draw_verdict(struct view_drawing *drawing, int row)
{
	const struct model *model = drawing->model;
	double at_ms = drawing->at < 0 && !model->dead ? drawing->now_ms : model_time(model, drawing->at);
	const struct model_finding *worst = ranking_worst_finding(model, at_ms);
	size_t open = 0;

	for (size_t i = 0; i < model->finding_count; i++)
		open += model->findings[i].severity > 0 && ranking_is_open(&model->findings[i], at_ms) &&
			!is_same_incident(worst, &model->findings[i]);
	if (worst) {
		int room = drawing->bottom - row < VERDICT ? drawing->bottom - row : VERDICT;

		row += finding_lines_draw(drawing->canvas, row, room, worst, at_ms, drawing->model->dead);
		if (open)
			canvas_print(drawing->canvas, row++, LABEL, STYLE_WARN, "and %zu more open finding%s (view 6)",
				     open, open > 1 ? "s" : "");
		return row;
	}
	if (drawing->at < 0 && has_ended(model))
		return draw_ended(drawing, row, at_ms);
	if (!model->rank_count)
		canvas_text(drawing->canvas, row, 1, STYLE_DIM, "NO RANK    has been seen yet");
	else if (!draw_missing(drawing, row))
		draw_healthy(drawing, row, at_ms);
	return row + 1;
}

/* "100 s (RANKWATCH_TIMEOUT)" */
static const char *limit_text(char *text, size_t size, const struct model *model)
{
	const char *from = model->watchdog.from;
	char limit[24];

	snprintf(text, size, *from ? "%s (%s)" : "%s", view_duration(limit, sizeof(limit), model->watchdog.timeout_ms),
		 from);
	return text;
}

static int draw_watchdog(struct view_drawing *drawing, int row)
{
	const struct model *model = drawing->model;
	double left = model->watchdog.deadline_ms - drawing->now_ms, waits = drawing->now_ms - model->watchdog.since_ms;
	bool over = model->dead || drawing->at >= 0 || has_ended(model);
	bool runs = model->watchdog.deadline_ms > 0 && waits >= MODEL_STANDS_MS && !over;
	char time[24], limit[96];

	canvas_text(drawing->canvas, row, 1, STYLE_DIM, "  watchdog");
	if (!model->watchdog.timeout_ms)
		canvas_text(drawing->canvas, row, LABEL, STYLE_DIM,
			    "its time is not known: RANKWATCH_TIMEOUT sets it");
	else if (runs && left <= 0)
		canvas_print(drawing->canvas, row, LABEL, STYLE_BAD, "%s are over: it may kill the job any moment",
			     limit_text(limit, sizeof(limit), model));
	else if (runs)
		canvas_print(drawing->canvas, row, LABEL,
			     left < model->watchdog.timeout_ms / 2 ? STYLE_BAD : STYLE_WARN, "%s left of %s",
			     view_duration(time, sizeof(time), left), limit_text(limit, sizeof(limit), model));
	else
		canvas_print(drawing->canvas, row, LABEL, STYLE_PLAIN, "%s%s",
			     limit_text(limit, sizeof(limit), model),
			     over ? "" : "; nothing has been in flight for a second");
	return row + 1;
}

/* How deep hosts see their ranks, by how many of them. */
static void draw_levels(struct view_drawing *drawing, int row)
{
	static const char *const levels[] = { "ebpf", "root", "proc", "self", "none" };
	const struct model *model = drawing->model;
	char text[160] = "by the messages of hosts";
	size_t used = strlen(text);

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		size_t count = 0;

		for (size_t k = 0; k < model->host_count; k++)
			count += !strcmp(model->hosts[k].level, levels[i]);
		if (count)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %zu at level %s",
						 strchr(text, ':') ? "," : ":", count, levels[i]);
	}
	canvas_cut(drawing->canvas, row, LABEL, drawing->canvas->width - LABEL, STYLE_PLAIN, text);
}

static int draw_sight(struct view_drawing *drawing, int row)
{
	const struct model *model = drawing->model;

	canvas_text(drawing->canvas, row, 1, STYLE_DIM, "  seen");
	if (model->all_nodes) {
		draw_levels(drawing, row);
		return row + 1;
	}
	canvas_cut(drawing->canvas, row, LABEL, drawing->canvas->width - LABEL, STYLE_PLAIN,
		   model->dead ? "from black boxes alone" : *model->sight ? model->sight : "how deep is not known yet");
	return row + 1;
}

/* Returns the next row. */
static int draw_ranks(struct view_drawing *drawing, int row)
{
	struct ranking ranking;

	if (ranking_make(&ranking, drawing->model, drawing->view, drawing->at, drawing->now_ms) == 0 && ranking.count) {
		size_t room = drawing->bottom - row - 1 > 0 ? (size_t)(drawing->bottom - row - 1) : 0;

		rank_row_head(drawing, row++, &ranking);
		size_t first = view_scroll(drawing->view, ranking.count, (int)room);

		for (size_t i = first; i < ranking.count && i < first + room; i++)
			rank_row_draw(drawing, row++, &ranking.rows[i], i == drawing->view->cursor);
		if (drawing->view->cursor < ranking.count)
			drawing->view->under_cursor =
			    drawing->model->ranks[ranking.rows[drawing->view->cursor].index].rank;
	}
	ranking_free(&ranking);
	return row;
}

/* Where there is room: what else is open. */
static void draw_others(struct view_drawing *drawing, int row)
{
	const struct model *model = drawing->model;
	double at_ms = drawing->at < 0 && !model->dead ? drawing->now_ms : model_time(model, drawing->at);
	const struct model_finding *worst = ranking_worst_finding(model, at_ms);

	for (size_t i = 0; i < model->finding_count && row + OTHERS <= drawing->bottom; i++) {
		const struct model_finding *finding = &model->findings[i];

		if (!is_same_incident(worst, finding) && finding->severity && ranking_is_open(finding, at_ms))
			row += finding_lines_draw(drawing->canvas, row, OTHERS - 1, finding, at_ms, false);
	}
}

void overview_draw(struct view_drawing *drawing)
{
	int row = drawing->top;

	row = draw_verdict(drawing, row);
	row = draw_watchdog(drawing, row);
	row = draw_sight(drawing, row);
	row = drawing->model->all_nodes ? draw_hosts(drawing, row) : draw_steps(drawing, row);
	row = draw_lost(drawing, row);
	row = draw_time(drawing, row);
	row = draw_ranks(drawing, row + (drawing->bottom - row > 12));
	draw_others(drawing, row + 1);
}
