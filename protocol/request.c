/* SPDX-License-Identifier: MIT */
#include "protocol/request.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char *const topic_names[REQUEST_TOPICS] = { "ranks",    "communicators", "gpus",        "losses",
							 "findings", "cells",         "explanation", "hosts" };

const char *request_topic_name(unsigned topic)
{
	return topic < REQUEST_TOPICS ? topic_names[topic] : NULL;
}

static bool names_run(const json_t *object, const char *key)
{
	const char *who = json_string_value(json_object_get(object, key));

	return who && strcmp(who, "run") == 0;
}

static unsigned topic_of(const char *name)
{
	for (unsigned i = 0; name && i < REQUEST_TOPICS; i++)
		if (strcmp(name, topic_names[i]) == 0)
			return 1u << i;
	return 0;
}

static void read_subscription(const json_t *object, struct request *request)
{
	const json_t *topics = json_object_get(object, "subscribe"), *every = json_object_get(object, "every_ms");
	json_int_t every_ms = json_is_integer(every) ? json_integer_value(every) : REQUEST_EVERY_MS;
	size_t i;
	const json_t *topic;

	if (!json_is_array(topics))
		return;
	request->kind = REQUEST_SUBSCRIBE;
	json_array_foreach(topics, i, topic) request->topics |= topic_of(json_string_value(topic));
	if (every_ms < REQUEST_EVERY_LEAST_MS)
		every_ms = REQUEST_EVERY_LEAST_MS;
	request->every_ms = every_ms < REQUEST_EVERY_MOST_MS ? (unsigned)every_ms : REQUEST_EVERY_MOST_MS;
}

static void read_get(const json_t *object, struct request *request)
{
	const json_t *what = json_object_get(object, "get"), *rank = json_object_get(what, "rank");
	const char *finding = json_string_value(json_object_get(what, "finding"));

	if (json_is_integer(rank) && json_integer_value(rank) >= 0 && json_integer_value(rank) <= INT32_MAX) {
		request->kind = REQUEST_GET_RANK;
		request->rank = (int32_t)json_integer_value(rank);
	} else if (finding && strlen(finding) < sizeof(request->finding)) {
		request->kind = REQUEST_GET_FINDING;
		snprintf(request->finding, sizeof(request->finding), "%s", finding);
	}
}

void request_parse(const char *line, size_t length, struct request *request)
{
	json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	const json_t *id = json_object_get(object, "id");

	*request = (struct request){ .id = -1 };
	if (json_is_integer(id) && json_integer_value(id) >= 0)
		request->id = json_integer_value(id);
	if (names_run(object, "join"))
		request->kind = REQUEST_JOIN;
	else if (names_run(object, "leave"))
		request->kind = REQUEST_LEAVE;
	else if (json_object_get(object, "subscribe"))
		read_subscription(object, request);
	else
		read_get(object, request);
	json_decref(object);
}
