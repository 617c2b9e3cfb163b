/* SPDX-License-Identifier: MIT */
#include "collector/sources/python/python_lines.h"

#include <stdbool.h>

/* Kinds of entries that have more than columns. */
enum { ONE_LINE = 10, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG = 14, NOWHERE = 15 };
enum { LINES = 10000000 }; /* more than any file has: a table that says so is no table */

/* Six bits a byte, the least first. */
static bool read_number(const uint8_t *table, size_t size, size_t *at, uint32_t *number)
{
	*number = 0;
	for (unsigned shift = 0; *at < size && shift < 30; shift += 6) {
		uint8_t byte = table[(*at)++];

		*number |= (uint32_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			return true;
	}
	return false;
}

static bool read_step(const uint8_t *table, size_t size, size_t *at, int32_t *step)
{
	uint32_t number;
	bool read = read_number(table, size, at, &number);

	*step = number & 1 ? -(int32_t)(number >> 1) : (int32_t)(number >> 1);
	return read;
}

int32_t python_lines_find(const uint8_t *table, size_t size, int32_t first_line, uint32_t unit)
{
	int32_t line = first_line;
	uint32_t begin = 0;

	if (line < 0 || line > LINES)
		return 0;
	for (size_t at = 0; at < size;) {
		uint8_t head = table[at++];
		unsigned kind = head >> 3 & 15;
		int32_t step = 0;

		if (!(head & 0x80))
			return 0;
		if (kind == NO_COLUMNS || kind == LONG) {
			if (!read_step(table, size, &at, &step))
				return 0;
		} else if (kind >= ONE_LINE && kind <= ONE_LINE_LAST) {
			step = (int32_t)kind - ONE_LINE;
		}
		line += step;
		if (line < 0 || line > LINES)
			return 0;
		begin += (head & 7u) + 1;
		if (unit < begin)
			return kind == NOWHERE ? 0 : line;
		while (at < size && !(table[at] & 0x80)) /* columns */
			at++;
	}
	return 0;
}
