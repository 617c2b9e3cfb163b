/* SPDX-License-Identifier: MIT */
/* Which black boxes a command is about: its arguments [DIRECTORY|FILE...], --job and --all. A child of the command's
 * argp, whose ARGP_KEY_INIT sets child_inputs[0] to a zeroed box_choice. */
#ifndef CONSOLE_BOXES_BOX_CHOICE_H
#define CONSOLE_BOXES_BOX_CHOICE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "console/boxes/boxes.h"

struct box_choice {
	const char *job;
	bool all;
	bool earlier; /* the command shows earlier starts of the newest run's job, too */
	char **paths;
	size_t path_count;
};

extern const struct argp box_choice_argp;
/* Without --all, for commands that take every run. */
extern const struct argp box_choice_every_argp;

/* Opens what was chosen; runs that were not asked for are still there, after run 0. Says on stderr, under the command's
 * full name, what was refused, when nothing was found, and when there is more than is asked for. 0, -ENOENT or -ENOMEM;
 * boxes_close() in every case. */
int box_choice_open(const struct box_choice *choice, const char *command, struct boxes *boxes);
/* How many of the runs were asked for: the newest, or all. */
size_t box_choice_runs(const struct box_choice *choice, const struct boxes *boxes);

#endif
