/* SPDX-License-Identifier: MIT */
#include "collector/request.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

static bool names_run(const json_t *object, const char *key)
{
	const char *who = json_string_value(json_object_get(object, key));

	return who && strcmp(who, "run") == 0;
}

enum request request_parse(const char *line, size_t length)
{
	json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	enum request request = REQUEST_UNKNOWN;

	if (names_run(object, "join"))
		request = REQUEST_JOIN;
	else if (names_run(object, "leave"))
		request = REQUEST_LEAVE;
	json_decref(object);
	return request;
}
