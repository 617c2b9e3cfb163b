/* SPDX-License-Identifier: MIT */
#include "console/html/group_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/view/view.h"
#include "base/foreign_text.h"
#include "console/replay.h"

enum { KEY = 24 };

static const char *key_of(uint64_t communicator, char key[KEY])
{
	snprintf(key, KEY, "%" PRIx64, communicator);
	return key;
}

static void take_name(void *argument, const struct analysis_communicator_view *communicator)
{
	json_t *names = argument;
	char key[KEY], *name = communicator->name ? foreign_text(communicator->name) : NULL;

	if (name && *name)
		json_object_set_new(names, key_of(communicator->id, key), json_string(name));
	free(name);
}

json_t *group_names_json(const struct replay *replay)
{
	json_t *names = json_object();

	for (size_t i = 0; names && i < replay->machine_count; i++)
		analysis_visit_communicators(replay->machines[i].analysis, take_name, names);
	return names;
}

const char *group_names_find(const json_t *names, uint64_t communicator)
{
	char key[KEY];

	return json_string_value(json_object_get(names, key_of(communicator, key)));
}
