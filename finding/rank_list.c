/* SPDX-License-Identifier: MIT */
#include "finding/rank_list.h"

#include <stdbool.h>
#include <stdio.h>

enum { REST = 24 }; /* room for ",… (16384 more)" */

static size_t end_of_row(const int32_t *ranks, size_t count, size_t first)
{
	size_t last = first;

	while (last + 1 < count && (int64_t)ranks[last + 1] == (int64_t)ranks[last] + 1)
		last++;
	return last;
}

/* Two in a row are no range: "0,1" is as short as "0-1" and cannot be misread. As in analysis/report/naming.c. */
static int write_row(char *text, size_t size, bool is_first, int32_t first, int32_t last)
{
	const char *comma = is_first ? "" : ",";

	if (last == first)
		return snprintf(text, size, "%s%d", comma, first);
	return snprintf(text, size, "%s%d%c%d", comma, first, last - 1 == first ? ',' : '-', last);
}

char *rank_list_text(char *text, size_t size, const int32_t *ranks, size_t count)
{
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		size_t last = end_of_row(ranks, count, i);

		if (length + REST + REST > size && i > 0) {
			snprintf(text + length, size - length, ",… (%zu more)", count - i);
			break;
		}
		length += (size_t)write_row(text + length, size - length, i == 0, ranks[i], ranks[last]);
		i = last;
	}
	return text;
}
