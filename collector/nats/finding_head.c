/* SPDX-License-Identifier: MIT */
#include "collector/nats/finding_head.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "finding/finding_json.h"
#include "finding/value.h"

static const char *const states[] = { "open", "update", "closed" };
static const char *const severities[] = { "notice", "warning", "critical" };

static int index_of(const char *text, const char *const *names, int count)
{
	for (int i = 0; text && i < count; i++)
		if (strcmp(text, names[i]) == 0)
			return i;
	return -1;
}

static bool is_id(const char *id)
{
	size_t length = id ? strlen(id) : 0;

	return length && length < sizeof(((struct rw_finding *)0)->id) && strspn(id, "0123456789abcdef-") == length;
}

static enum rw_kind kind_of(const char *name)
{
	for (int kind = 0; kind < RW_KIND_COUNT; kind++)
		if (strcmp(finding_kind_name((enum rw_kind)kind), name) == 0)
			return (enum rw_kind)kind;
	return RW_KIND_COUNT;
}

static const char *read(const json_t *json, struct rw_finding *head)
{
	int state = index_of(value_text(json, "state"), states, 3);
	int severity = index_of(value_text(json, "severity"), severities, 3);
	const char *id = value_text(json, "id"), *kind = value_text(json, "kind");

	if (json_integer_value(json_object_get(json, "schema")) != RW_FINDING_SCHEMA)
		return "has another schema";
	if (!is_id(id))
		return "has no id";
	if (state < 0 || severity < 0 || !kind)
		return "has no state, severity or kind";
	if (!json_is_array(json_object_get(json, "ranks")) || !value_text(json, "text"))
		return "has no ranks or no text";
	snprintf(head->id, sizeof(head->id), "%s", id);
	head->state = (enum rw_finding_state)state;
	head->severity = (enum rw_severity)severity;
	head->kind = kind_of(kind);
	head->values.present = json_is_object(json_object_get(json, "values"));
	head->first_seen_ns = value_time(json, "first_seen");

	const char *incident = value_text(json_object_get(json, "incident"), "id");

	head->incident.id = is_id(incident) ? incident : NULL;
	return NULL;
}

int finding_head_read(const json_t *json, struct rw_finding *head, char why[FINDING_HEAD_WHY])
{
	*head = (struct rw_finding){ 0 };

	const char *wrong = json_is_object(json) ? read(json, head) : "is no JSON object";

	snprintf(why, FINDING_HEAD_WHY, "%s", wrong ? wrong : "");
	return wrong ? -EPROTO : 0;
}
