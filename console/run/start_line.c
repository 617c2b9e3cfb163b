/* SPDX-License-Identifier: MIT */
#include "console/run/start_line.h"

#include <stdlib.h>
#include <string.h>

#include "base/paragraph.h"
#include "protocol/sight.h"

static void write_text(FILE *out, const struct start_line *line, const json_t *sight)
{
	if (line->job)
		fprintf(out, "job %s: ", line->job);
	sight_write(out, sight);
	if (line->job && line->findings)
		fprintf(out, "; findings %s", line->findings);
	if (line->job && line->findings && line->file)
		fprintf(out, " and go to %s", line->file);
}

void start_line_print(FILE *out, const struct start_line *line, const json_t *sight, int width)
{
	int indent = (int)strlen(line->who) + 2;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return;
	write_text(stream, line, sight);
	fclose(stream);
	fprintf(out, "%s: ", line->who);
	paragraph_print(out, text ? text : "(no memory)", indent, indent,
			width && width < START_LINE_COLUMNS ? width : START_LINE_COLUMNS);
	free(text);
}
