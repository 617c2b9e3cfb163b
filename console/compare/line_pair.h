/* SPDX-License-Identifier: MIT */
/* The calls of a rank on one communicator in two runs, side by side. One thread. */
#ifndef CONSOLE_COMPARE_LINE_PAIR_H
#define CONSOLE_COMPARE_LINE_PAIR_H

#include <stdbool.h>

#include "console/compare/partings.h"
#include "console/compare/side.h"
#include "console/compare/times.h"

enum { LINE_PAIR_ROW = 3 /* scans whose magnitudes differ, before it is said */, LINE_PAIR_TEXT = 192 };

struct line_pair {
	const struct side_line *lines[TIMES_SIDES];
	const struct rw_operation *now[TIMES_SIDES];
	size_t at[TIMES_SIDES];
	uint64_t scans, digests;
	bool parted;           /* the calls differ: nothing behind them can be compared */
	unsigned said;         /* bits of what was news before */
	/* bits of enum parting_kind: first seen at this pair (a magnitude: at the first of the row) */
	unsigned news;
	unsigned row[2];       /* of magnitudes that differ, of inputs and of results */
	struct line_pair_news {
		const struct rw_operation *call; /* of run A */
		bool result;
		char texts[TIMES_SIDES][LINE_PAIR_TEXT];
	} row_start[2], reported[PARTING_KINDS];
};

/* whole: both boxes have the first calls. Else the walk begins at the first call of run A that run B has, too. */
void line_pair_begin(struct line_pair *pair, const struct side_line *const lines[TIMES_SIDES], bool whole);
/* Goes on to the next pair of calls; false: one of the runs has no more, or they have parted before. */
bool line_pair_next(struct line_pair *pair);
/* Calls of that run behind the last pair. */
size_t line_pair_left(const struct line_pair *pair, enum times_side side);

#endif
