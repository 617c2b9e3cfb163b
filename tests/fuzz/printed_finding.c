/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/printed_finding.h"

#include <stdio.h>
#include <stdlib.h>

#include "finding/finding_json.h"
#include "finding/finding_text.h"

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
	json_decref(object);
	free(line);
	free(text);
}
