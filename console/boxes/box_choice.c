/* SPDX-License-Identifier: MIT */
#include "console/boxes/box_choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/descriptor_limit.h"
#include "base/foreign_text.h"
#include "blackbox/saved.h"
#include "console/boxes/box_runs.h"

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct box_choice *choice = state->input;

	switch (key) {
	case 'a':
		choice->all = true;
		return 0;
	case 'j':
		choice->job = argument;
		return 0;
	case ARGP_KEY_ARGS:
		choice->paths = state->argv + state->next;
		choice->path_count = (size_t)(state->argc - state->next);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option choice_options[] = {
	{ "all", 'a', NULL, 0, "Every run that is found, not only the newest", 0 },
	{ "job", 'j', "NAME", 0, "Only the boxes of this job", 0 },
	{ 0 },
};

#define ARGUMENTS "[DIRECTORY|FILE...]"

const struct argp box_choice_argp = { .options = choice_options, .parser = parse, .args_doc = ARGUMENTS };
const struct argp box_choice_every_argp = { .options = choice_options + 1, .parser = parse, .args_doc = ARGUMENTS };

static void refuse(void *command, const char *path, const char *why)
{
	foreign_line(stderr, "%s: %s: not read: %s", (const char *)command, path, why);
}

static int say_none(const struct box_choice *choice, const char *command)
{
	if (choice->job)
		foreign_line(stderr, "%s: no black box of job \"%s\"", command, choice->job);
	else if (choice->path_count)
		fprintf(stderr, "%s: no black box (*" RW_BOX_SUFFIX ", *" BOX_SAVED_SUFFIX ") there\n", command);
	else
		fprintf(stderr, "%s: this user has no black box on this machine; name a directory that has some\n",
			command);
	return -ENOENT;
}

int box_choice_open(const struct box_choice *choice, const char *command, struct boxes *boxes)
{
	descriptor_limit_raise();
	int error = boxes_open(boxes, choice->paths, choice->path_count, refuse, (void *)command);

	if (error) {
		fprintf(stderr, "%s: %s\n", command, strerror(-error));
		return error;
	}
	box_runs_keep_job(boxes, choice->job);
	if (!boxes->count)
		return say_none(choice, command);
	size_t shown = 1;

	for (size_t run = 0; choice->earlier && (run = box_runs_earlier(boxes, run)) != 0;)
		shown++;
	if (boxes->run_count > shown && !choice->all)
		fprintf(stderr, "%s: this is the newest of %zu runs%s; --all shows the others, too\n", command,
			boxes->run_count, shown > 1 ? ", with the earlier starts of its job" : "");
	return 0;
}

size_t box_choice_runs(const struct box_choice *choice, const struct boxes *boxes)
{
	return choice->all ? boxes->run_count : 1;
}
