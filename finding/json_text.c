/* SPDX-License-Identifier: MIT */
#include "finding/json_text.h"

#include <stdlib.h>

#include "base/foreign_text.h"

static json_t *escaped_text(const char *text)
{
	char *escaped = foreign_text(text);
	json_t *value = escaped ? json_string(escaped) : NULL;

	free(escaped);
	return value ? value : json_null();
}

json_t *json_text(const char *text)
{
	json_t *value = text ? json_string(text) : json_null();

	return value ? value : escaped_text(text);
}

json_t *json_name(const char *text)
{
	return text && *text ? json_text(text) : json_null();
}

json_t *json_printable(const char *text)
{
	return text && *text ? escaped_text(text) : json_null();
}
