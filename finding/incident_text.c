/* SPDX-License-Identifier: MIT */
#include "finding/incident_text.h"

#include "finding/value.h"

static const json_t *chain_of(const json_t *finding)
{
	return json_object_get(json_object_get(finding, "incident"), "chain");
}

static size_t count_findings(const json_t *chain)
{
	const json_t *link;
	size_t i, count = 0;

	json_array_foreach(chain, i, link) count += value_is(link, "event", "finding");
	return count;
}

bool incident_text_is_story(const json_t *finding)
{
	const json_t *chain = chain_of(finding), *link;
	size_t i;

	json_array_foreach(chain, i, link)
	{
		if (value_is(link, "event", "end"))
			return true;
	}
	return count_findings(chain) > 1;
}

/* Where the finding is alone it has been said already: what became of it is the story. */
void incident_text_write(FILE *out, const json_t *finding)
{
	const json_t *chain = chain_of(finding), *link;
	bool alone = count_findings(chain) == 1;
	const char *arrow = "";
	size_t i;

	json_array_foreach(chain, i, link)
	{
		const char *text = value_text(link, "text");

		if (alone && !i)
			continue;
		fprintf(out, "%s%s", arrow, text ? text : "?");
		if (i && !value_is(link, "confidence", "certain"))
			fprintf(out, " (%s)", value_text(link, "confidence") ? value_text(link, "confidence") : "?");
		arrow = " → ";
	}
}

const char *incident_text_id(const json_t *finding)
{
	const char *id = value_text(json_object_get(finding, "incident"), "id");

	return id ? id : "";
}
