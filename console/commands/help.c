/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "console/command.h"

static error_t parse(int key, char *argument, struct argp_state *state)
{
	const struct command **topic = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (state->arg_num > 0)
		argp_error(state, "one command at a time");
	*topic = command_find(argument);
	if (!*topic) {
		const struct command *meant = command_nearest(argument);

		argp_error(state,
			   meant ? "there is no command \"%s\"; did you mean \"%s\"?" : "there is no command \"%s\"",
			   argument, meant ? meant->name : "");
	}
	return 0;
}

/* As `rankwatch TOPIC --help`, so that there is one help text. */
static int show(const struct command *topic)
{
	char name[64], option[] = "--help";
	char *arguments[] = { name, option, NULL };

	snprintf(name, sizeof(name), "rankwatch %s", topic->name);
	return topic->run(topic, 2, arguments);
}

static int run(const struct command *command, int argc, char **argv)
{
	const struct command *topic = NULL;

	command_parse(command, argc, argv, 0, &topic);
	if (topic)
		return show(topic);
	command_print_overview(stdout);
	return COMMAND_DONE;
}

static const struct argp help_argp = {
	.parser = parse,
	.args_doc = "[COMMAND]",
	.doc = "Shows what a command does, its options and an example; without a name, the list of commands.\v"
	       "Example:\n"
	       "  rankwatch help run\n",
};

const struct command help_command = {
	.name = "help",
	.summary = "show what a command does, its options and an example",
	.argp = &help_argp,
	.run = run,
};
