/* SPDX-License-Identifier: MIT */
#include "finding/value.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
