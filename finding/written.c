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

static bool is(const json_t *finding, const char *key, const char *text)
{
	return !strcmp(text_of(finding, key), text);
}

/* What is open already and is said to open is reported by a collector that was started anew. */
static char *go_on(struct written *written, const json_t *finding)
{
	if (is(finding, "state", "closed"))
		json_object_del(written->open, text_of(finding, "id"));
	return is(finding, "state", "open") ? NULL : dump(finding);
}

static char *begin(struct written *written, const json_t *finding)
{
	if (is(finding, "severity", "notice") || is(finding, "state", "closed"))
		return NULL;
	json_object_set_new(written->open, text_of(finding, "id"), json_true());
	return is(finding, "state", "open") ? dump(finding) : dump_as_open(finding);
}

char *written_line(struct written *written, const json_t *finding)
{
	if (!json_is_integer(json_object_get(finding, "schema")))
		return NULL;
	if (!written->open)
		written->open = json_object();
	return json_object_get(written->open, text_of(finding, "id")) ? go_on(written, finding)
								      : begin(written, finding);
}

void written_free(struct written *written)
{
	json_decref(written->open);
	*written = (struct written){ 0 };
}
