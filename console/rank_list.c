/* SPDX-License-Identifier: MIT */
#include "console/rank_list.h"

#include <stdio.h>

enum { REST = 24 }; /* room for ",… (16384 more)" */

static size_t end_of_row(const int32_t *ranks, size_t count, size_t first)
{
	size_t last = first;

	while (last + 1 < count && ranks[last + 1] == ranks[last] + 1)
		last++;
	return last;
}

char *rank_list_text(char *text, size_t size, const int32_t *ranks, size_t count)
{
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		const char *comma = i ? "," : "";
		size_t last = end_of_row(ranks, count, i);

		if (length + REST + REST > size && i > 0) {
			snprintf(text + length, size - length, ",… (%zu more)", count - i);
			break;
		}
		if (last == i)
			length += (size_t)snprintf(text + length, size - length, "%s%d", comma, ranks[i]);
		else
			length +=
			    (size_t)snprintf(text + length, size - length, "%s%d-%d", comma, ranks[i], ranks[last]);
		i = last;
	}
	return text;
}
