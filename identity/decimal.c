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

const char *decimal_read(const char *text, unsigned int places, uint64_t largest, uint64_t *value)
{
	static const char digits[] = "0123456789";
	size_t whole = strspn(text, digits), fraction = text[whole] == '.' ? strspn(text + whole + 1, digits) : 0;
	const char *point = text + whole;

	*value = 0;
	if (!whole || largest < 9)
		return NULL;
	for (size_t i = 0; i < whole; i++)
		if (!append(value, (unsigned int)(text[i] - '0'), largest))
			return NULL;
	for (size_t i = 0; i < places; i++)
		if (!append(value, i < fraction ? (unsigned int)(point[1 + i] - '0') : 0, largest))
			return NULL;
	return *point == '.' ? point + 1 + fraction : point;
}
