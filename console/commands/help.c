/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "console/cli/command.h"
#include "console/cli/completion.h"
#include "console/cli/finding_page.h"
#include "console/cli/manual.h"
#include "console/cli/terminal.h"

enum { KEY_COMPLETION = 0x100, KEY_MAN };

struct options {
	const struct command *topic;
	const struct finding_page *page; /* a kind of finding; one is called as a command is: both are known then */
	const char *shell;
	bool man;
};

static void refuse_topic(const char *name, struct argp_state *state)
{
	const struct command *command = command_nearest(name);
	const struct finding_page *page = finding_page_nearest(name);
	const char *meant = command ? command->name : page ? page->kind : NULL;

	argp_error(state,
		   meant ? "there is no command and no kind of finding \"%s\"; did you mean \"%s\"?"
			 : "there is no command and no kind of finding \"%s\"",
		   name, meant);
}

static void set_topic(struct options *options, const char *name, struct argp_state *state)
{
	if (state->arg_num > 0)
		argp_error(state, "one command or kind of finding at a time");
	options->topic = command_find(name);
	options->page = finding_page_find(name);
	if (!options->topic && !options->page)
		refuse_topic(name, state);
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

static void show_page(const struct options *options)
{
	finding_page_print(stdout, options->page, terminal_width(STDOUT_FILENO), terminal_has_colour(STDOUT_FILENO));
	if (options->topic)
		printf("\nThe command of the same name: rankwatch %s --help\n", options->topic->name);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };

	command_parse(command, argc, argv, 0, &options);
	if (options.shell && completion_print(stdout, options.shell)) {
		fprintf(stderr, "rankwatch help: no completion for \"%s\": bash, zsh or fish\n", options.shell);
		return COMMAND_MISUSE;
	}
	if (options.shell)
		return COMMAND_DONE;
	if (options.man && options.page && !options.topic) {
		fprintf(stderr, "rankwatch help: a kind of finding has no manual page: rankwatch help %s\n",
			options.page->kind);
		return COMMAND_MISUSE;
	}
	if (options.man)
		manual_print(stdout, options.topic);
	else if (options.page)
		show_page(&options);
	else if (options.topic)
		return show(options.topic);
	else
		command_print_overview(stdout);
	return COMMAND_DONE;
}

static const struct argp_option help_options[] = {
	{ "completion", KEY_COMPLETION, "SHELL", 0, "Print the completion script for bash, zsh or fish", 0 },
	{ "man", KEY_MAN, NULL, 0, "Print the manual page, for man -l -", 0 },
	{ 0 },
};

static const struct argp help_argp = {
	.options = help_options,
	.parser = parse,
	.args_doc = "[COMMAND|KIND]",
	.doc = "Shows what a command does, its options and an example; or what a kind of finding means, what to do "
	       "first and "
	       "how it is decided. Without a name, the list of commands.\v"
	       "Kinds of findings: straggler, hang, gone, desync, slowdown, nan, inf, overflow, saturation, "
	       "corruption, drift, "
	       "memory, gpu, version, blind. Manual pages and completions are installed with the program.\n\n"
	       "Examples:\n"
	       "  rankwatch help run\n"
	       "  rankwatch help straggler\n"
	       "  rankwatch help --man run | man -l -\n"
	       "  source <(rankwatch help --completion bash)\n",
};

const struct command help_command = {
	.name = "help",
	.summary = "show what a command does, or what a finding means",
	.argp = &help_argp,
	.run = run,
};
