/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/foreign_text.h"
#include "console/boxes/box_choice.h"
#include "console/boxes/box_removal.h"
#include "console/boxes/box_runs.h"
#include "console/cli/command.h"
#include "console/cli/json_line.h"
#include "console/cli/option.h"
#include "console/cli/size.h"
#include "console/dump/box_json.h"

enum { KEY_OLDER = 0x100 };

struct options {
	struct box_choice choice;
	bool dry_run, json;
	uint64_t older_s;
};

struct clean {
	const struct options *options;
	uint64_t bytes;
	unsigned removed, failed, running;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ ARGP_KEY_INIT, .child = &options->choice }, { 'n', .flag = &options->dry_run },
		{ 'J', .flag = &options->json }, { 0 },
	};

	switch (key) {
	case KEY_OLDER:
		if (age_parse(argument, &options->older_s))
			argp_error(state, "--older-than: \"%s\" is not an age such as 12h or 7d", argument);
		return 0;
	default:
		return option_take(fields, key, argument, state);
	}
}

/* The plugin's thread looks at least every second while the process lives: its last poll is the end. */
static uint64_t ended_realtime_s(const struct rw_box_header *header)
{
	uint64_t last_ns = header->drain_ns ? header->drain_ns : header->created_ns;

	return (uint64_t)((int64_t)last_ns + box_realtime_offset(header)) / 1000000000;
}

/* The boxes of dead ranks explain a run as long as it goes on. */
static bool is_over(const struct boxes *boxes, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++)
		if (box_reader_life(&boxes->entries[i].reader, NULL) != BOX_ORPHANED)
			return false;
	return true;
}

static bool is_old_enough(const struct options *options, const struct boxes *boxes, size_t first, size_t count)
{
	uint64_t now_s = (uint64_t)time(NULL);

	for (size_t i = first; i < first + count; i++)
		if (ended_realtime_s(&boxes->entries[i].reader.header) + options->older_s > now_s)
			return false;
	return true;
}

static void remove_box(struct clean *clean, const struct box_entry *entry)
{
	const struct rw_box_header *header = &entry->reader.header;
	uint64_t bytes = 0;
	int err = clean->options->dry_run ? box_size(entry, &bytes) : box_remove(entry, &bytes);

	if (err) {
		clean->failed++;
		foreign_line(stderr, "rankwatch clean: %s: %s", entry->path, strerror(-err));
	} else {
		clean->removed++;
		clean->bytes += bytes;
		if (clean->options->json)
			json_line_print(json_pack("{s:o, s:o, s:I, s:b}", "path",
						  box_json_text(entry->path, strlen(entry->path)), "job",
						  box_json_text(header->job, sizeof(header->job)), "bytes",
						  (json_int_t)bytes, "removed", !clean->options->dry_run));
		else
			foreign_line(stdout, "%s", entry->path);
	}
}

static void clean_run(struct clean *clean, const struct boxes *boxes, size_t run)
{
	size_t first, count = box_runs_entries(boxes, run, &first);

	if (!is_over(boxes, first, count)) {
		clean->running++;
		return;
	}
	if (!is_old_enough(clean->options, boxes, first, count))
		return;
	for (size_t i = first; i < first + count; i++)
		remove_box(clean, &boxes->entries[i]);
	if (!clean->options->dry_run)
		box_remove_directory(&boxes->entries[first]);
}

static void print_total(const struct clean *clean)
{
	char size[24];

	fprintf(stderr, "rankwatch clean: %u black box%s %s, %s\n", clean->removed, clean->removed == 1 ? "" : "es",
		clean->options->dry_run ? "would be removed" : "removed", size_text(size, clean->bytes));
	if (clean->running)
		fprintf(stderr, "rankwatch clean: %u %s still running: nothing of %s was touched\n", clean->running,
			clean->running == 1 ? "run is" : "runs are", clean->running == 1 ? "it" : "them");
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };
	struct clean clean = { .options = &options };
	struct boxes boxes;

	command_parse(command, argc, argv, 0, &options);
	options.choice.all = true;
	int err = box_choice_open(&options.choice, argv[0], &boxes);

	for (size_t i = 0; !err && i < boxes.run_count; i++)
		clean_run(&clean, &boxes, i);
	boxes_close(&boxes);
	if (!err)
		print_total(&clean);
	return (err && err != -ENOENT) || clean.failed ? COMMAND_FAILED : COMMAND_DONE;
}

static const struct argp_option clean_options[] = {
	{ "dry-run", 'n', NULL, 0, "Only print what would be removed", 0 },
	{ "json", 'J', NULL, 0, "One JSON object a line: path, job, bytes, whether it was removed", 0 },
	{ "older-than", KEY_OLDER, "AGE", 0, "Only runs that ended longer ago than AGE, such as 12h or 7d", 0 },
	{ 0 },
};

static const struct argp_child clean_children[] = { { .argp = &box_choice_every_argp }, { 0 } };

static const struct argp clean_argp = {
	.options = clean_options,
	.parser = parse,
	.children = clean_children,
	.doc =
	    "Removes the black boxes of runs that have ended, and prints their names. Without a name: all of this user "
	    "in shared memory on this machine, where each box can take up to 34 MiB. A run with a process that still "
	    "lives is left alone whole.\v"
	    "Files that are no black boxes are never touched, but for what a collector kept beside the last of "
	    "them.\n\n"
	    "Examples:\n"
	    "  rankwatch clean --dry-run\n"
	    "  rankwatch clean --older-than 7d /shared/boxes\n",
};

const struct command clean_command = {
	.name = "clean",
	.summary = "remove the black boxes of runs that have ended",
	.argp = &clean_argp,
	.run = run,
};
