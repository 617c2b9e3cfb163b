/* SPDX-License-Identifier: MIT */
#include "console/top/view.h"

static const struct {
	const char *key, *meaning;
} lines[] = {
	{ "1-7, Tab", "overview, ranks, comms, one rank, values, findings, hosts" },
	{ "arrows, PgUp, Home", "move; Enter looks at that rank, or at a host's ranks" },
	{ "left right, [ ]", "back and forth in time, by a step or ten; Esc: now" },
	{ "p, space", "hold this moment, and go on" },
	{ "f", "follow the worst rank" },
	{ "s, F6", "sort by lost time, rank, waiting, state" },
	{ "z", "fold the healthy ranks of a host into one row, or not" },
	{ "/, F3", "show what matches: rank, host, operation, thread" },
	{ "q, F10, Ctrl-C", "quit" },
	{ "?, h, F1", "this page" },
	{ "S", "what a rank does:" },
	{ "L H D X G N", "a finding names it: late, hangs, calls something else," },
	{ "", "dead, its GPU, NaN or Inf" },
	{ "M", "others stand where it has not come, for a second or more" },
	{ "W", "waits in an operation, for a second or more" },
	{ "R I T X E ?", "runs, init, stopped, dead, ended, not known" },
	{ "LOST A STEP", "others waited for it so long, over the last ten steps" },
	{ "IN", "of all nodes: in operations, waits and transfers together" },
	{ "WAIT, OWN", "of its time: in operations others had not come to, between" },
	{ "SCAN", "for NaN, Inf: on; part (some left out for cost); none yet" },
	{ "BY STEP", "others waited for it, of each step; N: NaN or Inf" },
};

void help_draw(struct view_drawing *drawing)
{
	int row = drawing->top;

	canvas_style_row(drawing->canvas, row, STYLE_HEAD);
	canvas_text(drawing->canvas, row++, 1, STYLE_HEAD, "HELP  any key goes back");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && row < drawing->bottom; i++, row++) {
		canvas_text(drawing->canvas, row, 1, STYLE_BOLD, lines[i].key);
		canvas_cut(drawing->canvas, row, 21, drawing->canvas->width - 21, STYLE_PLAIN, lines[i].meaning);
	}
}
