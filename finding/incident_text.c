/* SPDX-License-Identifier: MIT */
#include "finding/incident_text.h"

#include "finding/value.h"

static const json_t *chain_of(const json_t *finding)
{
	return json_object_get(json_object_get(finding, "incident"), "chain");
}

bool incident_text_is_story(const json_t *finding)
{
	const json_t *link;
	size_t i, findings = 0;

	json_array_foreach(chain_of(finding), i, link)
	{
		findings += value_is(link, "event", "finding");
		if (value_is(link, "event", "end"))
			return true;
	}
	return findings > 1;
}

void incident_text_write(FILE *out, const json_t *finding)
{
	const json_t *link;
	size_t i;

	json_array_foreach(chain_of(finding), i, link)
	{
		const char *text = value_text(link, "text");

		fprintf(out, "%s%s", i ? " → " : "", text ? text : "?");
		if (i && !value_is(link, "confidence", "certain"))
			fprintf(out, " (%s)", value_text(link, "confidence") ? value_text(link, "confidence") : "?");
	}
}

const char *incident_text_id(const json_t *finding)
{
	const char *id = value_text(json_object_get(finding, "incident"), "id");

	return id ? id : "";
}
