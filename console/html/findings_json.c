/* SPDX-License-Identifier: MIT */
#include "console/html/findings_json.h"

#include <stdlib.h>
#include <string.h>

#include "finding/cause_text.h"
#include "finding/incident_text.h"
#include "finding/seen_live_text.h"
#include "finding/value.h"
#include "finding/values_text.h"
#include "finding/weight.h"

typedef void write_line(FILE *out, const json_t *finding);

static void set_line(json_t *finding, const char *key, write_line *write)
{
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	if (out) {
		write(out, finding);
		fclose(out);
	}
	if (line && *line) {
		line[strcspn(line, "\n")] = '\0';
		json_object_set_new(finding, key, json_string(line));
	}
	free(line);
}

/* Each on a copy: the replay's own stay as they are. */
static json_t *one_json(const struct run_view *view, const json_t *reported)
{
	json_t *finding = json_copy((json_t *)reported);
	bool values = finding && values_text_is(finding);
	const json_t *cause = json_object_get(reported, "cause");

	if (!finding)
		return NULL;
	json_object_set_new(finding, "at", json_integer(run_view_us_of(view, value_time(reported, "first_seen"))));
	json_object_set_new(finding, "told", json_integer(run_view_us_of(view, value_time(reported, "time"))));
	if (json_is_object(cause) && (!cause_text_is_whole_process(cause) || value_is(cause, "class", "unknown")))
		set_line(finding, "because", cause_text_write);
	if (values)
		set_line(finding, "values_line", values_text_write);
	if (seen_live_text_is(reported))
		set_line(finding, "seen_live_line", seen_live_text_write);
	if (incident_text_is_story(reported))
		set_line(finding, "story", incident_text_write);
	return finding;
}

json_t *findings_json(const struct run_view *view)
{
	json_t *list = json_array(), *reported;
	const char *id;

	json_object_foreach(view->replay.findings, id, reported)
	{
		json_t *finding = one_json(view, reported);

		if (finding)
			weight_insert(list, finding);
	}
	return list;
}
