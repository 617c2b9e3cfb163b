/* SPDX-License-Identifier: MIT */
#include "console/metrics/incidents.h"

#include <string.h>

#include "finding/incident_text.h"
#include "finding/value.h"

static int severity_of(const json_t *finding)
{
	return value_is(finding, "severity", "critical") ? 2 : value_is(finding, "severity", "warning") ? 1 : 0;
}

/* Place in the incident's chain; behind all of it where it is not in it. */
static size_t place_of(const json_t *finding)
{
	const json_t *chain = json_object_get(json_object_get(finding, "incident"), "chain"), *link;
	const char *id = value_text(finding, "id");
	size_t i;

	json_array_foreach(chain, i, link)
	{
		if (id && value_is(link, "finding", id))
			return i;
	}
	return json_array_size(chain);
}

/* Where the incident stands in the list; behind its end where it does not. */
static size_t find(const json_t *incidents, const char *id)
{
	const json_t *incident;
	size_t at;

	json_array_foreach(incidents, at, incident)
	{
		if (*id && strcmp(incident_text_id(incident), id) == 0)
			break;
	}
	return at;
}

json_t *incidents_open(const json_t *findings)
{
	json_t *incidents = json_array();
	const json_t *finding;
	size_t i;

	json_array_foreach(findings, i, finding)
	{
		size_t at = find(incidents, incident_text_id(finding));
		json_t *before = json_array_get(incidents, at), *first;

		if (!before) {
			json_array_append_new(incidents, json_copy((json_t *)finding));
			continue;
		}
		bool worse = severity_of(finding) > severity_of(before);

		first = json_copy(place_of(finding) < place_of(before) ? (json_t *)finding : before);
		json_object_set(first, "severity", json_object_get(worse ? finding : before, "severity"));
		json_array_set_new(incidents, at, first);
	}
	return incidents;
}
