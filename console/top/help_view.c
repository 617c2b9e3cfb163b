/* SPDX-License-Identifier: MIT */
#include "console/top/view.h"

static const struct {
	const char *key, *meaning;
} lines[] = {
	{ "1 - 6, Tab", "overview, ranks, communicators, one rank, values, findings" },
	{ "up down PgUp PgDn Home End", "move; Enter: look at that rank" },
	{ "left right, [ ]", "go back and forth in time, by one step or ten; Esc: now" },
	{ "p, space", "hold this moment, and go on" },
	{ "f", "follow the worst rank" },
	{ "s", "sort by lost time, rank, waiting, state" },
	{ "z", "fold the healthy ranks of a host into one row, or not" },
	{ "/", "show what matches: rank, host, operation, thread" },
	{ "q, Ctrl-C", "quit" },
	{ "", "" },
	{ "S", "what a rank does, by letter:" },
	{ "L H D X G N", "named by a finding: late, hangs, calls otherwise, dead, GPU, NaN/Inf" },
	{ "M", "others have stood for a second in an operation that it has not come to" },
	{ "W", "waits in an operation for more than a second" },
	{ "R I T E ?", "runs, makes a communicator, stopped, ended, not known" },
	{ "", "" },
	{ "LOST A STEP", "how long the others waited for it, on average over the last ten steps" },
	{ "WAIT, OWN", "shares of its time: in operations that others had not come to; between them" },
	{ "bars at the right", "the same share step by step; N: NaN or Inf was seen in that step" },
};

void help_draw(struct view_drawing *drawing)
{
	int row = drawing->top;

	canvas_style_row(drawing->canvas, row, STYLE_HEAD);
	canvas_text(drawing->canvas, row++, 1, STYLE_HEAD, "HELP  any key goes back");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && row < drawing->bottom; i++, row++) {
		canvas_text(drawing->canvas, row, 1, STYLE_BOLD, lines[i].key);
		canvas_cut(drawing->canvas, row, 29, drawing->canvas->width - 29, STYLE_PLAIN, lines[i].meaning);
	}
}
