/* SPDX-License-Identifier: MIT */
#include "console/top/field.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/foreign_text.h"

static bool is_plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text >= 0x7f)
			return false;
	return true;
}

void field_copy(char *out, size_t size, const json_t *value)
{
	const char *text = json_string_value(value);

	/* Nearly always so, and there are tens of thousands of them. */
	if (text && is_plain(text)) {
		snprintf(out, size, "%s", text);
		return;
	}
	char *escaped = text ? foreign_text(text) : NULL;

	snprintf(out, size, "%s", escaped ? escaped : "");
	free(escaped);
}

const json_t *field_get(const json_t *object, const char *key)
{
	return json_object_get(object, key);
}

double field_number(const json_t *object, const char *key, double otherwise)
{
	const json_t *value = field_get(object, key);

	return json_is_number(value) && isfinite(json_number_value(value)) ? json_number_value(value) : otherwise;
}

int64_t field_integer(const json_t *object, const char *key, int64_t otherwise)
{
	const json_t *value = field_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

int32_t field_small(const json_t *object, const char *key, int32_t otherwise)
{
	int64_t value = field_integer(object, key, otherwise);

	return value < INT32_MIN || value > INT32_MAX ? otherwise : (int32_t)value;
}
