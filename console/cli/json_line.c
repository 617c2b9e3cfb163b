/* SPDX-License-Identifier: MIT */
#include "console/cli/json_line.h"

#include <stdio.h>

void json_line_print(json_t *line)
{
	if (line && json_dumpf(line, stdout, JSON_COMPACT | JSON_ENSURE_ASCII) == 0)
		putchar('\n');
	json_decref(line);
}
