/* SPDX-License-Identifier: MIT */
/* The largest magnitudes of each communicator over the steps, as rows of a table; what grew most comes first. */
#ifndef CONSOLE_TOP_MAGNITUDE_ROWS_H
#define CONSOLE_TOP_MAGNITUDE_ROWS_H

#include "console/top/view.h"

/* At most `most` rows, with their head. Returns the next row: `row` where no scan has seen any. */
int magnitude_rows_draw(struct view_drawing *drawing, int row, int most);

#endif
