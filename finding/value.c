/* SPDX-License-Identifier: MIT */
#include "finding/value.h"

#include <string.h>

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
