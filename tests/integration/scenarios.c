/* SPDX-License-Identifier: MIT */
/* Prints the table of scenarios as one JSON object, for tests that are not written in C. */
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "sim/workload/job/scenario.h"

static json_t *strings(const char *const *texts)
{
	json_t *array = json_array();

	for (; texts && *texts; texts++)
		json_array_append_new(array, json_string(*texts));
	return array;
}

static json_t *describe(const struct scenario *scenario)
{
	return json_pack("{s:s, s:o, s:s?, s:o, s:s?, s:s?, s:i, s:i, s:s?, s:s?, s:i, s:b, s:i, s:i, s:i, s:s?}",
			 "name", scenario->name, "arguments", strings(scenario->arguments), "script", scenario->script,
			 "environment", strings(scenario->environment), "kind", scenario->kind, "cause",
			 scenario->cause, "rank", scenario->rank, "peer", scenario->peer, "scope", scenario->scope,
			 "origin", scenario->origin, "first_bad", scenario->first_bad, "foresees", scenario->foresees,
			 "duration_s", scenario->duration_s, "within_s", scenario->within_s, "status", scenario->status,
			 "awaits", scenario->awaits);
}

int main(void)
{
	json_t *all = json_object();

	for (size_t i = 0; i < scenario_count; i++)
		json_object_set_new(all, scenarios[i].name, describe(&scenarios[i]));
	json_object_set_new(all, "environment", strings(scenario_environment));
	json_dumpf(all, stdout, JSON_INDENT(1));
	json_decref(all);
	return EXIT_SUCCESS;
}
