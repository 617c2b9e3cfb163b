/* SPDX-License-Identifier: MIT */
/* A finding on a canvas, in the words of `rankwatch findings`. */
#ifndef CONSOLE_TOP_FINDING_LINES_H
#define CONSOLE_TOP_FINDING_LINES_H

#include "console/top/canvas.h"
#include "console/top/model.h"

/* At most `rows` rows; returns how many it took. at_ms: Unix, the moment that is looked at.
 * whole: all of it, also when it is closed. */
int finding_lines_draw(struct canvas *canvas, int row, int rows, const struct model_finding *finding, double at_ms,
		       bool whole);

#endif
