/* SPDX-License-Identifier: MIT */
#include "finding/kept_findings.h"

#include <stdio.h>

static int put(struct kept_findings *kept, const json_t *record)
{
	json_t *entry = json_object_get(record, "entry"), *finding = json_object_get(record, "finding");
	char key[24];

	if (!json_is_integer(entry) || !json_is_object(finding))
		return -1;
	if (!kept->entries)
		kept->entries = json_object();
	snprintf(key, sizeof(key), "%lld", (long long)json_integer_value(entry));
	if (json_object_size(kept->entries) >= KEPT_FINDINGS_MOST && !json_object_get(kept->entries, key))
		return -1;
	return json_object_set(kept->entries, key, finding);
}

void kept_findings_take(void *argument, const char *record, size_t size)
{
	struct kept_findings *kept = argument;
	json_t *value = json_loadb(record, size, 0, NULL);

	if (put(kept, value))
		kept->refused++;
	json_decref(value);
}

void kept_findings_free(struct kept_findings *kept)
{
	json_decref(kept->entries);
	*kept = (struct kept_findings){ 0 };
}

char *kept_findings_record(json_int_t entry, const json_t *finding)
{
	json_t *record = json_pack("{s:I, s:O}", "entry", entry, "finding", finding);
	char *text = record ? json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;

	json_decref(record);
	return text;
}
