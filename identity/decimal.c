/* SPDX-License-Identifier: MIT */
#include "identity/decimal.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static bool append(uint64_t *value, unsigned int digit, uint64_t largest)
{
	if (*value > largest / 10 || *value * 10 > largest - digit)
		return false;
	*value = *value * 10 + digit;
	return true;
}

static size_t count_digits(const char *text)
{
	return strspn(text, "0123456789");
}

const char *decimal_whole(const char *text, uint64_t largest, uint64_t *value)
{
	size_t whole = count_digits(text);

	*value = 0;
	if (!whole || largest < 9)
		return NULL;
	for (size_t i = 0; i < whole; i++)
		if (!append(value, (unsigned int)(text[i] - '0'), largest))
			return NULL;
	return text + whole;
}

const char *decimal_read(const char *text, unsigned int places, uint64_t largest, uint64_t *value)
{
	const char *point = decimal_whole(text, largest, value);
	size_t fraction = point && *point == '.' ? count_digits(point + 1) : 0;

	if (!point)
		return NULL;
	for (size_t i = 0; i < places; i++)
		if (!append(value, i < fraction ? (unsigned int)(point[1 + i] - '0') : 0, largest))
			return NULL;
	return *point == '.' ? point + 1 + fraction : point;
}
