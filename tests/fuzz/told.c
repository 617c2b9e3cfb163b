/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/told.h"

#include <string.h>

static const uint64_t nothing = 0xcbf29ce484222325;
static uint64_t number = 0xcbf29ce484222325;

void told(const void *bytes, size_t length)
{
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < length; i++)
		number = (number ^ byte[i]) * 0x100000001b3;
}

void told_text(const char *text)
{
	told(text ? text : "", text ? strlen(text) + 1 : 1);
}

void told_value(uint64_t value)
{
	told(&value, sizeof(value));
}

uint64_t told_number(void)
{
	uint64_t all = number;

	number = nothing;
	return all;
}
