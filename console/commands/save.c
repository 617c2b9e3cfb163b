/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "blackbox/box_store.h"
#include "blackbox/evidence.h"
#include "blackbox/saved.h"
#include "console/boxes/box_choice.h"
#include "console/boxes/box_folder.h"
#include "console/boxes/box_runs.h"
#include "console/cli/command.h"
#include "console/cli/json_line.h"
#include "console/cli/option.h"
#include "console/cli/progress.h"
#include "console/cli/unfinished.h"
#include "console/dump/box_json.h"

enum { KEY_TO = 0x100 };

struct options {
	const char *to;
	bool json;
	struct box_choice choice;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ 'J', .flag = &options->json }, { KEY_TO, .text = &options->to }, { 0 },
	};

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->choice;
		options->to = "rankwatch-boxes";
		return 0;
	default:
		return option_take(fields, key, argument, state);
	}
}

static int fail(const char *why)
{
	foreign_line(stderr, "rankwatch save: %s", why);
	return COMMAND_FAILED;
}

static void print_path(const struct options *options, const struct box_store *store, const struct box_entry *entry)
{
	char path[sizeof(store->path) + sizeof(store->name) + 1];

	snprintf(path, sizeof(path), "%s/%s", store->path, store->name);
	if (options->json)
		json_line_print(json_pack("{s:o, s:o, s:o}", "path", box_json_text(path, sizeof(path)), "job",
					  box_json_text(entry->reader.header.job, sizeof(entry->reader.header.job)),
					  "of", box_json_text(entry->path, strlen(entry->path))));
	else
		foreign_line(stdout, "%s", path);
}

/* Ctrl-C leaves the boxes that are saved, and no half one. */
static void guard_half(const struct box_store *store, const struct box_entry *entry)
{
	char name[BOX_SAVED_NAME], half[BOX_SAVED_UNFINISHED], path[sizeof(store->path) + sizeof(half) + 1];

	box_saved_name(&entry->reader.header, name);
	box_saved_unfinished(name, half);
	snprintf(path, sizeof(path), "%s/%s", store->path, half);
	unfinished_guard(path);
}

static int save_box(const struct options *options, struct box_entry *entry)
{
	struct box_store store;
	char why[BOX_STORE_WHY] = "";
	int err = box_store_open(&store, options->to, entry->reader.header.job, 0, why);

	if (!err) {
		guard_half(&store, entry);
		err = box_store_save(&store, &entry->reader, why);
		unfinished_release();
	}
	if (!err)
		print_path(options, &store, entry);
	box_store_close(&store);
	return err ? fail(why) : COMMAND_DONE;
}

/* What was seen live, beside the boxes of one directory. */
struct beside {
	const struct options *options;
	const struct box_entry *entry; /* one of them */
	int directory;
	int status;
};

static void save_evidence(void *argument, const char *name)
{
	struct beside *beside = argument;
	struct box_store store;
	char why[BOX_STORE_WHY] = "";

	if (!evidence_is_of_job(name, beside->entry->reader.header.job))
		return;
	int err = box_store_open(&store, beside->options->to, beside->entry->reader.header.job, 0, why);

	if (!err)
		err = box_store_save_evidence(&store, beside->directory, name, why);
	if (!err)
		print_path(beside->options, &store, beside->entry);
	box_store_close(&store);
	if (err)
		beside->status = fail(why);
}

static int save_beside(const struct options *options, const struct box_entry *entry)
{
	struct beside beside = { .options = options, .entry = entry, .directory = box_folder_open(entry->path) };

	if (beside.directory < 0)
		return COMMAND_DONE;
	evidence_list(beside.directory, save_evidence, &beside);
	close(beside.directory);
	return beside.status;
}

static bool is_first_of_its_directory(const struct boxes *boxes, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (box_folder_is_same(boxes->entries[i].path, boxes->entries[number].path))
			return false;
	return true;
}

/* The boxes first: should there be no room for more, they are worth most. */
static int save_all_evidence(const struct options *options, const struct boxes *boxes, size_t runs)
{
	int status = COMMAND_DONE;

	for (size_t i = 0; status == COMMAND_DONE && i < boxes->count; i++)
		if (boxes->entries[i].run < runs && is_first_of_its_directory(boxes, i))
			status = save_beside(options, &boxes->entries[i]);
	return status;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };
	struct progress progress = { .silent = isatty(STDOUT_FILENO) };
	struct boxes boxes;
	int status = COMMAND_DONE;

	command_parse(command, argc, argv, 0, &options);
	if (box_choice_open(&options.choice, argv[0], &boxes))
		status = COMMAND_FAILED;
	size_t runs = box_choice_runs(&options.choice, &boxes);

	progress_begin(&progress, "saving", boxes.count, "black box");
	for (size_t i = 0; status == COMMAND_DONE && i < boxes.count; i++) {
		progress_show(&progress, i, boxes.count);
		if (boxes.entries[i].run < runs)
			status = save_box(&options, &boxes.entries[i]);
	}
	progress_end(&progress);
	if (status == COMMAND_DONE)
		status = save_all_evidence(&options, &boxes, runs);
	if (status == COMMAND_DONE && boxes.refused)
		status = COMMAND_INCOMPLETE;
	boxes_close(&boxes);
	return status;
}

static const struct argp_option save_options[] = {
	{ "json", 'J', NULL, 0, "One JSON object a line: path, job, of which box", 0 },
	{ "to", KEY_TO, "DIRECTORY", 0, "Write to DIRECTORY/JOB; otherwise to rankwatch-boxes/JOB here", 0 },
	{ 0 },
};

static const struct argp_child save_children[] = { { .argp = &box_choice_argp }, { 0 } };

static const struct argp save_argp = {
	.options = save_options,
	.parser = parse,
	.children = save_children,
	.doc = "Copies black boxes out of shared memory, compressed, with what was seen live of their job, and prints "
	       "the files it wrote. The job may go on "
	       "meanwhile. Without a name: the newest run of this user on this machine.\v"
	       "\"rankwatch run --save DIRECTORY\" does it by itself whenever a process ends. Reports and dumps read "
	       "saved "
	       "boxes as they are.\n\n"
	       "Examples:\n"
	       "  rankwatch save --to /shared/boxes\n"
	       "  rankwatch save && rankwatch report rankwatch-boxes\n",
};

const struct command save_command = {
	.name = "save",
	.summary = "copy black boxes out of shared memory before it is gone",
	.argp = &save_argp,
	.run = run,
};
