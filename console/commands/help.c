/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>

#include "console/command.h"
#include "console/completion.h"
#include "console/manual.h"

enum { KEY_COMPLETION = 0x100, KEY_MAN };

struct options {
	const struct command *topic;
	const char *shell;
	bool man;
};

static void set_topic(struct options *options, const char *name, struct argp_state *state)
{
	const struct command *meant = command_nearest(name);

	if (state->arg_num > 0)
		argp_error(state, "one command at a time");
	options->topic = command_find(name);
	if (!options->topic)
		argp_error(state,
			   meant ? "there is no command \"%s\"; did you mean \"%s\"?" : "there is no command \"%s\"",
			   name, meant ? meant->name : "");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case KEY_COMPLETION:
		options->shell = argument;
		return 0;
	case KEY_MAN:
		options->man = true;
		return 0;
	case ARGP_KEY_ARG:
		set_topic(options, argument, state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
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
	struct options options = { 0 };

	command_parse(command, argc, argv, 0, &options);
	if (options.shell && completion_print(stdout, options.shell)) {
		fprintf(stderr, "rankwatch help: no completion for \"%s\": bash or zsh\n", options.shell);
		return COMMAND_MISUSE;
	}
	if (options.shell)
		return COMMAND_DONE;
	if (options.man)
		manual_print(stdout, options.topic);
	else if (options.topic)
		return show(options.topic);
	else
		command_print_overview(stdout);
	return COMMAND_DONE;
}

static const struct argp_option help_options[] = {
	{ "completion", KEY_COMPLETION, "SHELL", 0, "Print the completion script for bash or zsh", 0 },
	{ "man", KEY_MAN, NULL, 0, "Print the manual page, for man -l -", 0 },
	{ 0 },
};

static const struct argp help_argp = {
	.options = help_options,
	.parser = parse,
	.args_doc = "[COMMAND]",
	.doc = "Shows what a command does, its options and an example; without a name, the list of commands.\v"
	       "Manual pages and completions are installed with the program.\n\n"
	       "Examples:\n"
	       "  rankwatch help run\n"
	       "  rankwatch help --man run | man -l -\n"
	       "  source <(rankwatch help --completion bash)\n",
};

const struct command help_command = {
	.name = "help",
	.summary = "show what a command does, its options and an example",
	.argp = &help_argp,
	.run = run,
};
