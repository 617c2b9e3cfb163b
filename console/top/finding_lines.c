/* SPDX-License-Identifier: MIT */
#include "console/top/finding_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/top/ranking.h"
#include "finding/finding_text.h"

enum { LABEL = 11 };

static enum canvas_style style_of(const struct model_finding *finding, double at_ms)
{
	if (!ranking_is_open(finding, at_ms))
		return STYLE_DIM;
	return finding->severity > 1 ? STYLE_BAD : finding->severity ? STYLE_WARN : STYLE_WAIT;
}

/* The label in its own style, the rest as it is. */
static void draw_line(struct canvas *canvas, int row, enum canvas_style label_style, enum canvas_style style,
		      const char *line)
{
	char label[LABEL + 1];
	size_t length = strlen(line);

	snprintf(label, sizeof(label), "%s", line);
	canvas_text(canvas, row, 1, label_style, label);
	if (length > LABEL)
		canvas_cut(canvas, row, 1 + LABEL, canvas->width - 1 - LABEL, style, line + LABEL);
}

int finding_lines_draw(struct canvas *canvas, int row, int rows, const struct model_finding *finding, double at_ms,
		       bool whole)
{
	const struct finding_style style = { .whole = whole, .width = canvas->width - 1 };
	char *text = NULL, *rest, *line;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int taken = 0;

	if (!out)
		return 0;
	/* Its countdown stood still when it was reported; the overview has one that runs. */
	json_t *without = json_copy(finding->json);

	json_object_del(without, "watchdog");
	int err = without ? finding_print(out, without, &style) : -ENOMEM;

	json_decref(without);
	fclose(out);
	for (line = err ? NULL : strtok_r(text, "\n", &rest); line && taken < rows;
	     line = strtok_r(NULL, "\n", &rest), taken++) {
		bool open = ranking_is_open(finding, at_ms);

		draw_line(canvas, row + taken, taken ? STYLE_DIM : style_of(finding, at_ms),
			  taken || !open ? STYLE_PLAIN : STYLE_BOLD, line);
	}
	/* There is more of it: all is in the view of findings. */
	if (line && taken)
		canvas_text(canvas, row + taken - 1, canvas->width - 1, STYLE_DIM, "…");
	free(text);
	return taken;
}
