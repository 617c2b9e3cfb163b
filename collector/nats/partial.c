/* SPDX-License-Identifier: MIT */
#include "collector/nats/partial.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/nats/value_parts.h"
#include "finding/value.h"

static bool is_slow_part(const json_t *finding)
{
	const json_t *operation = json_object_get(finding, "operation");
	const json_t *ranks = json_object_get(finding, "ranks");
	json_int_t size = json_integer_value(json_object_get(operation, "comm_size"));

	return value_is(finding, "kind", "slowdown") && value_is(finding, "scope", "job") &&
	       value_text(operation, "comm") && json_is_array(ranks) && (json_int_t)json_array_size(ranks) < size;
}

/* FNV-1a of what all parts say. */
static json_t *id_of(const json_t *finding, const char *text)
{
	uint32_t hash = 2166136261u;
	char id[24];
	json_int_t generation = json_integer_value(json_object_get(json_object_get(finding, "job"), "generation"));

	for (const char *at = text; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619u;
	snprintf(id, sizeof(id), "%08x-%u", (unsigned)hash, (unsigned)(generation & 0xffff));
	return json_string(id);
}

/* Of the communicator, whoever sees which part of it. */
static int make_slow_part(json_t *copy, const json_t *finding)
{
	json_object_del(copy, "incident");
	return json_object_set_new(copy, "id",
				   id_of(finding, value_text(json_object_get(finding, "operation"), "comm"))) ||
	       json_object_set_new(copy, "confidence", json_string("inconclusive"));
}

/* The link of its incident's chain that is this finding has its id. */
static int rename_link(json_t *copy, const char *own)
{
	json_t *incident = json_deep_copy(json_object_get(copy, "incident")), *link;
	size_t i;

	json_array_foreach(json_object_get(incident, "chain"), i, link)
		if (own && value_is(link, "finding", own))
			json_object_set(link, "finding", json_object_get(copy, "id"));
	return incident ? json_object_set_new(copy, "incident", incident) : 0;
}

/* Of the kind and the operation, whichever ranks the host lists. */
static int make_value_part(json_t *copy, const json_t *finding)
{
	char place[VALUE_PARTS_PLACE], text[VALUE_PARTS_PLACE + 32];

	value_parts_place(place, finding);
	snprintf(text, sizeof(text), "%.20s %s", value_text(finding, "kind"), place);
	return json_object_set_new(copy, "id", id_of(finding, text)) || rename_link(copy, value_text(finding, "id"));
}

json_t *partial_finding(const json_t *finding)
{
	bool is_value = value_parts_is_part(finding);

	if (!is_value && !is_slow_part(finding))
		return json_incref((json_t *)finding);

	json_t *copy = json_copy((json_t *)finding);

	if (copy && !(is_value ? make_value_part : make_slow_part)(copy, finding))
		return copy;
	json_decref(copy);
	return NULL;
}
