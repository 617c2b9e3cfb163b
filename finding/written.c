/* SPDX-License-Identifier: MIT */
#include "finding/written.h"

#include <stdbool.h>
#include <string.h>

static const char *text_of(const json_t *finding, const char *key)
{
	const char *text = json_string_value(json_object_get(finding, key));

	return text ? text : "";
}

static char *dump(const json_t *finding)
{
	return json_dumps(finding, JSON_COMPACT | JSON_REAL_PRECISION(12));
}

static char *dump_as_open(const json_t *finding)
{
	json_t *first = json_copy((json_t *)finding);
	char *line = NULL;

	if (first && !json_object_set_new(first, "state", json_string("open")))
		line = dump(first);
	json_decref(first);
	return line;
}

char *written_line(struct written *written, const json_t *finding)
{
	const char *id = text_of(finding, "id");

	if (!written->open)
		written->open = json_object();
	bool known = json_object_get(written->open, id) != NULL;

	if (!strcmp(text_of(finding, "state"), "closed")) {
		json_object_del(written->open, id);
		return known ? dump(finding) : NULL;
	}
	json_object_set_new(written->open, id, json_true());
	return known || !strcmp(text_of(finding, "state"), "open") ? dump(finding) : dump_as_open(finding);
}

void written_free(struct written *written)
{
	json_decref(written->open);
	*written = (struct written){ 0 };
}
