/* SPDX-License-Identifier: MIT */
/* One row of the list of ranks. */
#ifndef CONSOLE_TOP_RANK_ROW_H
#define CONSOLE_TOP_RANK_ROW_H

#include "console/top/ranking.h"
#include "console/top/view.h"

/* The names of the columns, as wide as the canvas. */
void rank_row_head(struct view_drawing *drawing, int row, const struct ranking *ranking);
void rank_row_draw(struct view_drawing *drawing, int row, const struct ranking_row *ranked, bool chosen);

#endif
