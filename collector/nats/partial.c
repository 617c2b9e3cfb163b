/* SPDX-License-Identifier: MIT */
#include "collector/nats/partial.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "finding/value.h"

static bool is_partial(const json_t *finding)
{
	const json_t *operation = json_object_get(finding, "operation");
	const json_t *ranks = json_object_get(finding, "ranks");
	json_int_t size = json_integer_value(json_object_get(operation, "comm_size"));

	return value_is(finding, "kind", "slowdown") && value_is(finding, "scope", "job") && value_text(operation, "comm") &&
	       json_is_array(ranks) && (json_int_t)json_array_size(ranks) < size;
}

/* Of the communicator, whoever sees which part of it: FNV-1a of its number. */
static json_t *id_of(const json_t *finding)
{
	uint32_t hash = 2166136261u;
	char id[24];
	json_int_t generation = json_integer_value(json_object_get(json_object_get(finding, "job"), "generation"));

	for (const char *at = value_text(json_object_get(finding, "operation"), "comm"); *at; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619u;
	snprintf(id, sizeof(id), "%08x-%u", (unsigned)hash, (unsigned)(generation & 0xffff));
	return json_string(id);
}

json_t *partial_finding(const json_t *finding)
{
	if (!is_partial(finding))
		return json_incref((json_t *)finding);

	json_t *copy = json_copy((json_t *)finding);

	if (copy && !json_object_set_new(copy, "id", id_of(finding)) &&
	    !json_object_set_new(copy, "confidence", json_string("inconclusive")) && json_object_del(copy, "incident") <= 0)
		return copy;
	json_decref(copy);
	return NULL;
}
