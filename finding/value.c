/* SPDX-License-Identifier: MIT */
#include "finding/value.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "finding/rank_list.h"

const char *value_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

double value_number(const json_t *object, const char *key, double absent)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : absent;
}

uint64_t value_time(const json_t *object, const char *key)
{
	const char *text = value_text(object, key), *rest;
	struct tm fields = { 0 };

	rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &fields) : NULL;
	double fraction = rest && *rest == '.' ? strtod(rest, NULL) : 0;

	if (!(fraction >= 0 && fraction < 1))
		fraction = 0;
	return rest ? (uint64_t)timegm(&fields) * 1000000000 + (uint64_t)(fraction * 1e9 + 0.5) : 0;
}

bool value_is(const json_t *object, const char *key, const char *expected)
{
	const char *text = value_text(object, key);

	return text && strcmp(text, expected) == 0;
}

char *value_ranks(const json_t *ranks, char *text, size_t size)
{
	size_t count = json_array_size(ranks);
	int32_t *numbers = calloc(count + 1, sizeof(*numbers));

	for (size_t i = 0; numbers && i < count; i++)
		numbers[i] = (int32_t)json_integer_value(json_array_get(ranks, i));
	if (numbers)
		rank_list_text(text, size, numbers, count);
	else
		strcpy(text, "?");
	free(numbers);
	return text;
}
