/* SPDX-License-Identifier: MIT */
#include "console/html/differences.h"

#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "console/dump/box_json.h"
#include "console/html/run_view.h"

/* What may well be its own in every process says nothing. */
static const char *const of_everybody[] = {
	"boot_id",
	"claims",
	"comms_used",
	"created_ns",
	"created_realtime_ns",
	"callbacks",
	"devices",
	"drain_ns",
	"end",
	"environment",
	"host",
	"local_rank",
	"own_ns",
	"pid",
	"pid_namespace",
	"samples",
	"scan",
	"start_time_ticks",
	"total_size",
	"world_rank",
	"untracked",
	"dropped",
	"job",
};

/* Nor these of the environment. */
static const char *const of_every_environment[] = {
	"RANK",           "LOCAL_RANK",      "GROUP_RANK",           "ROLE_RANK",
	"SLURM_PROCID",   "SLURM_LOCALID",   "SLURM_NODEID",         "HOSTNAME",
	"NODE_NAME",      "SLURMD_NODENAME", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
	"PMIX_RANK",      "PMI_RANK",        "RANKWATCH_RANK",       "CUDA_VISIBLE_DEVICES",
	"MPI_LOCALRANKID"
};

static bool is_among(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* values: name → value as text → the ranks that have it. */
static void note(json_t *values, const char *name, const char *value, int32_t rank)
{
	json_t *of_name = json_object_get(values, name), *ranks;

	if (!of_name) {
		of_name = json_object();
		json_object_set_new(values, name, of_name);
	}
	ranks = json_object_get(of_name, value);
	if (!ranks) {
		ranks = json_array();
		json_object_set_new(of_name, value, ranks);
	}
	json_array_append_new(ranks, json_integer(rank));
}

static void note_json(json_t *values, const char *name, const json_t *value, int32_t rank)
{
	char *text = json_is_string(value) ? strdup(json_string_value(value))
					   : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

	if (text)
		note(values, name, text, rank);
	free(text);
}

static void note_environment(json_t *values, const json_t *environment, int32_t rank)
{
	size_t i;
	json_t *one;

	json_array_foreach(environment, i, one)
	{
		char name[128], *escaped = foreign_text(json_string_value(one));
		const char *equals = escaped ? strchr(escaped, '=') : NULL;

		if (equals && (size_t)(equals - escaped) < sizeof(name)) {
			memcpy(name, escaped, (size_t)(equals - escaped));
			name[equals - escaped] = '\0';
			if (!is_among(of_every_environment,
				      sizeof(of_every_environment) / sizeof(*of_every_environment), name))
				note(values, name, equals + 1, rank);
		}
		free(escaped);
	}
}

static void note_process(json_t *values, const struct replay_process *process)
{
	json_t *header = box_json_header(replay_header(process)), *value;
	const char *name;

	json_object_foreach(header, name, value)
	{
		if (!is_among(of_everybody, sizeof(of_everybody) / sizeof(*of_everybody), name))
			note_json(values, name, value, process->rank);
	}
	note_json(values, "scan", json_object_get(json_object_get(header, "scan"), "state"), process->rank);
	note_environment(values, json_object_get(header, "environment"), process->rank);
	json_decref(header);
}

static char *ranks_text(const json_t *ranks)
{
	size_t count = json_array_size(ranks);
	int32_t *list = calloc(count + 1, sizeof(*list));
	char *text;

	for (size_t i = 0; list && i < count; i++)
		list[i] = (int32_t)json_integer_value(json_array_get(ranks, i));
	text = list ? run_view_ranks(list, count) : NULL;
	free(list);
	return text;
}

static json_t *unlike_json(const char *name, json_t *of_name, size_t without)
{
	json_t *values = json_array(), *ranks;
	const char *value;

	json_object_foreach(of_name, value, ranks)
	{
		char *text = ranks_text(ranks);

		json_array_append_new(values, json_pack("{s:s, s:s?, s:I}", "value", value, "ranks", text, "count",
							(json_int_t)json_array_size(ranks)));
		free(text);
	}
	if (without)
		json_array_append_new(values,
				      json_pack("{s:n, s:n, s:I}", "value", "ranks", "count", (json_int_t)without));
	return json_pack("{s:s, s:o}", "what", name, "values", values);
}

json_t *differences_json(const struct replay *replay)
{
	json_t *values = json_object(), *unlike = json_array(), *alike = json_array(), *of_name, *ranks;
	const char *name, *value;

	for (size_t i = 0; i < replay->count; i++)
		note_process(values, &replay->processes[i]);
	json_object_foreach(values, name, of_name)
	{
		size_t with = 0;

		json_object_foreach(of_name, value, ranks) with += json_array_size(ranks);
		if (json_object_size(of_name) == 1 && with == replay->count)
			json_array_append_new(
			    alike, json_pack("[s, s]", name, json_object_iter_key(json_object_iter(of_name))));
		else
			json_array_append_new(unlike, unlike_json(name, of_name, replay->count - with));
	}
	json_decref(values);
	return json_pack("{s:o, s:o}", "unlike", unlike, "alike", alike);
}
