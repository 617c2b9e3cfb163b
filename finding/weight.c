/* SPDX-License-Identifier: MIT */
#include "finding/weight.h"

#include <string.h>

#include "finding/value.h"

/* A name's place in a list; how many there are for one that is in none. */
static int place_of(const json_t *finding, const char *key, const char *const *names, int count)
{
	const char *text = value_text(finding, key);
	int place = 0;

	while (place < count && (!text || strcmp(text, names[place])))
		place++;
	return place;
}

static const char *const severities[] = { "critical", "warning", "notice" };

bool weight_is_more_severe(const json_t *left, const json_t *right)
{
	return place_of(left, "severity", severities, 3) < place_of(right, "severity", severities, 3);
}

int weight_compare(const json_t *left, const json_t *right)
{
	static const char *const confidences[] = { "certain", "likely", "inconclusive" };
	int by = place_of(left, "severity", severities, 3) - place_of(right, "severity", severities, 3);
	uint64_t left_at = value_time(left, "first_seen"), right_at = value_time(right, "first_seen");

	if (!by)
		by = place_of(left, "confidence", confidences, 3) - place_of(right, "confidence", confidences, 3);
	return by ? by : (left_at > right_at) - (left_at < right_at);
}

void weight_insert(json_t *list, json_t *finding)
{
	size_t place = json_array_size(list);

	while (place && weight_compare(finding, json_array_get(list, place - 1)) < 0)
		place--;
	json_array_insert_new(list, place, finding);
}
