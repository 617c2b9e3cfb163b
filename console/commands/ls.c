/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/descriptor_limit.h"
#include "base/foreign_text.h"
#include "blackbox/run_mark.h"
#include "console/boxes/box_choice.h"
#include "console/boxes/box_removal.h"
#include "console/boxes/box_runs.h"
#include "console/cli/command.h"
#include "console/cli/option.h"
#include "console/cli/size.h"
#include "console/client/collectors.h"
#include "console/dump/box_json.h"
#include "protocol/message.h"
#include "protocol/sight.h"

enum { ANSWER_MS = 500 };

struct options {
	struct box_choice choice;
	bool json;
};

/* What a line is about. */
struct listed {
	const struct rw_box_header *header; /* of one of its boxes */
	size_t boxes;
	int32_t world_size; /* -1: not known */
	uint64_t began_s;   /* CLOCK_REALTIME */
	uint64_t bytes;
	const char *state;
	bool findings, failed;
	char *directory;
	const json_t *collector; /* NULL: none */
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ ARGP_KEY_INIT, .child = &options->choice }, { 'J', .flag = &options->json }, { 0 },
	};

	return option_take(fields, key, argument, state);
}

static char *directory_of(const struct box_entry *entry)
{
	const char *slash = strrchr(entry->path, '/');

	return slash ? strndup(entry->path, (size_t)(slash - entry->path)) : strdup(".");
}

static uint64_t began_ns(const struct rw_box_header *header)
{
	return (uint64_t)((int64_t)header->created_ns + box_realtime_offset(header));
}

/* A run is alive with one of its processes; of copies nobody knows. */
static const char *state_of(const struct box_entry *entries, size_t count)
{
	const char *state = "ended";

	for (size_t i = 0; i < count; i++) {
		enum box_life life = box_reader_life(&entries[i].reader, NULL);

		if (life == BOX_ALIVE)
			return "running";
		if (life == BOX_LIFE_UNKNOWN)
			state = "not known";
	}
	return state;
}

/* Marks are of the newest run that was there when they were left; runs come newest first. */
static void read_marks(struct listed *run, uint64_t first_ns, const struct listed *newer, size_t newer_count)
{
	for (size_t i = 0; i < newer_count; i++)
		if (newer[i].directory && run->directory && !strcmp(newer[i].directory, run->directory))
			return;
	if (!run->directory)
		return;
	run->findings = run_mark_time_ns(run->directory, RUN_MARK_FINDINGS) >= (int64_t)first_ns;
	run->failed = run_mark_time_ns(run->directory, RUN_MARK_FAILED) >= (int64_t)first_ns;
}

static void look_at_run(struct listed *runs, size_t number, const struct boxes *boxes,
			const struct collectors *collectors)
{
	size_t first, count = box_runs_entries(boxes, number, &first);
	const struct box_entry *entries = &boxes->entries[first];
	struct listed *run = &runs[number];
	uint64_t first_ns = UINT64_MAX;

	*run = (struct listed){ .header = &entries[0].reader.header,
				.boxes = count,
				.world_size = -1,
				.state = state_of(entries, count),
				.directory = directory_of(&entries[0]) };
	for (size_t i = 0; i < count; i++) {
		const struct rw_box_header *header = &entries[i].reader.header;
		uint64_t bytes = 0;

		first_ns = began_ns(header) < first_ns ? began_ns(header) : first_ns;
		run->world_size = header->world_size > run->world_size ? header->world_size : run->world_size;
		run->bytes += box_size(&entries[i], &bytes) ? 0 : bytes;
	}
	run->began_s = first_ns / 1000000000;
	if (!strcmp(run->state, "running"))
		run->collector = collectors_of(collectors, run->header->job);
	read_marks(run, first_ns, runs, number);
}

static json_t *time_json(uint64_t seconds)
{
	time_t time = (time_t)seconds;
	char text[32] = "";
	struct tm utc;

	if (gmtime_r(&time, &utc))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
	return json_string(text);
}

static void print_json(json_t *line)
{
	if (line && json_dumpf(line, stdout, JSON_COMPACT | JSON_ENSURE_ASCII) == 0)
		putchar('\n');
	json_decref(line);
}

static void print_run_json(const struct listed *run)
{
	const struct rw_box_header *header = run->header;

	print_json(json_pack("{s:o, s:i, s:o, s:s, s:b, s:b, s:i, s:o, s:o, s:I, s:o, s:o}", "job",
			     box_json_text(header->job, sizeof(header->job)), "generation", (int)header->generation,
			     "host", box_json_text(header->host, sizeof(header->host)), "state", run->state, "findings",
			     run->findings, "failed", run->failed, "boxes", (int)run->boxes, "ranks",
			     run->world_size < 0 ? json_null() : json_integer(run->world_size), "began",
			     time_json(run->began_s), "bytes", (json_int_t)run->bytes, "directory",
			     run->directory ? box_json_text(run->directory, strlen(run->directory)) : json_null(),
			     "collector", run->collector ? json_deep_copy(run->collector) : json_null()));
}

static void print_time(uint64_t seconds)
{
	time_t time = (time_t)seconds;
	char text[32] = "";
	struct tm local;

	if (localtime_r(&time, &local))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
	printf("%-19s", text);
}

static const char *ending_of(const struct listed *run)
{
	if (run->findings)
		return run->failed ? ", failed, with findings" : ", with findings";
	return run->failed ? ", failed" : "";
}

static void print_collector(const json_t *hello)
{
	char line[SIGHT_LINE];

	printf("  collector  process %" JSON_INTEGER_FORMAT ", ", json_integer_value(json_object_get(hello, "pid")));
	if (json_is_true(json_object_get(hello, "silent"))) {
		puts("does not answer: it may be stopped");
		return;
	}
	sight_describe(hello, SIGHT_LINE - 1, line);
	puts(line);
}

static void print_run(const struct listed *run)
{
	char size[24], ranks[32];

	if (run->world_size > 0)
		snprintf(ranks, sizeof(ranks), "%zu of %" PRId32, run->boxes, run->world_size);
	else
		snprintf(ranks, sizeof(ranks), "%zu", run->boxes);
	char *job = foreign_text(run->header->job);

	printf("%-28s  %-12s  ", job ? job : "(no memory)", ranks);
	free(job);
	print_time(run->began_s);
	printf("  %9s  %s%s\n", size_text(size, run->bytes), run->state, ending_of(run));
	foreign_line(stdout, "  boxes      %s", run->directory ? run->directory : "(no memory)");
	if (run->collector)
		print_collector(run->collector);
}

static bool is_shown(const json_t *hello, const struct listed *runs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (runs[i].collector == hello)
			return true;
	return false;
}

static void print_heard(const json_t *hello)
{
	json_int_t silent = json_integer_value(json_object_get(hello, "silent"));

	printf("hears %" JSON_INTEGER_FORMAT " hosts with %" JSON_INTEGER_FORMAT " ranks",
	       json_integer_value(json_object_get(hello, "hosts")),
	       json_integer_value(json_object_get(hello, "ranks")));
	if (silent)
		printf(", %" JSON_INTEGER_FORMAT " of these hosts silent", silent);
	puts("; rankwatch top --all-nodes shows them");
}

/* Who hears all nodes of a job watches no run: it is listed by itself. */
static void print_all_nodes(const json_t *hello, const struct options *options)
{
	const char *job = json_string_value(json_object_get(hello, "job"));

	if (options->json) {
		print_json(json_pack("{s:O}", "collector", hello));
		return;
	}
	foreign_line(stdout, "%s: all nodes", job ? job : "(job not known)");
	printf("  collector  process %" JSON_INTEGER_FORMAT ", ", json_integer_value(json_object_get(hello, "pid")));
	if (json_is_true(json_object_get(hello, "silent")) && !job)
		puts("does not answer: it may be stopped");
	else
		print_heard(hello);
}

static size_t print_all_of_all_nodes(const struct collectors *collectors, const struct options *options)
{
	size_t printed = 0;

	for (size_t i = 0; i < collectors->count; i++) {
		const json_t *hello = collectors->answers[i].hello;
		bool of_job = !options->choice.job ||
			      (json_object_get(hello, "job") && message_hello_is_of(hello, options->choice.job));

		if (options->choice.path_count || !of_job)
			continue;
		print_all_nodes(hello, options);
		printed++;
	}
	return printed;
}

static void print_lone_collector(const json_t *hello, const struct options *options)
{
	const char *job = json_string_value(json_object_get(hello, "job"));

	if (options->json) {
		print_json(json_pack("{s:O}", "collector", hello));
		return;
	}
	foreign_line(stdout, "%s: no black box of it is there yet", job ? job : "(job not known)");
	print_collector(hello);
}

static size_t print_lone_collectors(const struct collectors *collectors, const struct listed *runs, size_t count,
				    const struct options *options)
{
	size_t printed = 0;

	for (size_t i = 0; i < collectors->count; i++) {
		const json_t *hello = collectors->answers[i].hello;

		if (is_shown(hello, runs, count))
			continue;
		print_lone_collector(hello, options);
		printed++;
	}
	return printed;
}

static int list(const struct options *options, const struct boxes *boxes, const struct collectors *collectors,
		const struct collectors *all_nodes)
{
	struct listed *runs = calloc(boxes->run_count + 1, sizeof(*runs));

	if (!runs)
		return -ENOMEM;
	for (size_t i = 0; i < boxes->run_count; i++)
		look_at_run(runs, i, boxes, collectors);
	if (boxes->run_count && !options->json)
		printf("%-28s  %-12s  %-19s  %9s  %s\n", "JOB", "RANKS", "BEGAN", "SIZE", "STATE");
	for (size_t i = 0; i < boxes->run_count; i++) {
		if (options->json)
			print_run_json(&runs[i]);
		else
			print_run(&runs[i]);
	}
	bool everything = !options->choice.path_count && !options->choice.job;
	size_t lone = everything ? print_lone_collectors(collectors, runs, boxes->run_count, options) : 0;

	lone += print_all_of_all_nodes(all_nodes, options);

	if (!lone && !boxes->run_count && !options->json)
		fprintf(stderr, "rankwatch ls: %s\n",
			everything ? "this user has neither a black box nor a collector on this machine"
				   : "no such black box");
	for (size_t i = 0; i < boxes->run_count; i++)
		free(runs[i].directory);
	free(runs);
	return 0;
}

static void refuse(void *argument, const char *path, const char *why)
{
	(void)argument;
	foreign_line(stderr, "rankwatch ls: %s: not read: %s", path, why);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };
	struct collectors collectors = { 0 }, all_nodes = { 0 };
	struct boxes boxes;

	command_parse(command, argc, argv, 0, &options);
	descriptor_limit_raise();
	const struct box_choice *choice = &options.choice;
	int err = boxes_open(&boxes, choice->paths, choice->path_count, refuse, NULL);

	if (!err && choice->job)
		box_runs_keep_job(&boxes, choice->job);
	if (!err)
		err = collectors_find(&collectors, NULL, ANSWER_MS);
	if (!err)
		err = collectors_find_all_nodes(&all_nodes, NULL, ANSWER_MS);
	if (!err)
		err = list(&options, &boxes, &collectors, &all_nodes);
	collectors_free(&collectors);
	collectors_free(&all_nodes);
	bool refused = boxes.refused;

	boxes_close(&boxes);
	if (err) {
		fprintf(stderr, "rankwatch ls: %s\n", strerror(-err));
		return COMMAND_FAILED;
	}
	return refused ? COMMAND_INCOMPLETE : COMMAND_DONE;
}

static const struct argp_option ls_options[] = {
	{ "json", 'J', NULL, 0,
	  "One JSON object a line: a run, or a collector that watches none yet or hears all nodes", 0 },
	{ 0 },
};

static const struct argp_child ls_children[] = { { .argp = &box_choice_every_argp }, { 0 } };

static const struct argp ls_argp = {
	.options = ls_options,
	.parser = parse,
	.children = ls_children,
	.doc =
	    "Lists the runs whose black boxes this user has on this machine, the newest first: how many ranks of how "
	    "many left one, when the first was made, what they hold of memory or disk, whether the run still goes on, "
	    "and which collector watches it, at what level. Collectors without a run come last, unless something is "
	    "named, and behind them those that hear all nodes of a job.\v"
	    "Exit status 3: a file that is named as a black box could not be read.\n\n"
	    "Examples:\n"
	    "  rankwatch ls\n"
	    "  rankwatch ls --json /shared/boxes | jq -r 'select(.findings) | .directory'\n",
};

const struct command ls_command = {
	.name = "ls",
	.summary = "list runs, their black boxes and their collectors",
	.argp = &ls_argp,
	.run = run,
};
