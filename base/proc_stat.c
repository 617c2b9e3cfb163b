/* SPDX-License-Identifier: MIT */
#include "base/proc_stat.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *proc_stat_text(const char *line, enum proc_stat_field field)
{
	const char *at = strrchr(line, ')');

	for (int i = 2; at && i < (int)field; i++)
		at = strchr(at + 1, ' ');
	return at && at[1] && at[1] != '\n' ? at + 1 : NULL;
}

bool proc_stat_number(const char *line, enum proc_stat_field field, uint64_t *number)
{
	const char *text = proc_stat_text(line, field);
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return !errno && (*end == ' ' || *end == '\n' || !*end);
}
