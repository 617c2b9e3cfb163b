/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/printed_finding.h"

#include <stdio.h>
#include <stdlib.h>

#include "finding/finding_json.h"
#include "finding/finding_text.h"
#include "tests/fuzz/told.h"

void printed_finding(void *argument, const struct rw_finding *finding)
{
	char *line = finding_to_line(finding, 0), *text = NULL;
	json_t *object = line ? json_loads(line, 0, NULL) : NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	(void)argument;
	if (!object || finding_print(stream, object, NULL))
		abort();
	fclose(stream);
	told_text(finding->text);
	told_text(finding->cause.text);
	told_text(finding->advice);
	told_value((uint64_t)finding->kind << 24 | (uint64_t)finding->state << 16 | (uint64_t)finding->severity << 8 |
		   finding->confidence);
	told_value(finding->time_ns);
	told(finding->ranks, finding->rank_count * sizeof(*finding->ranks));
	json_decref(object);
	free(line);
	free(text);
}
