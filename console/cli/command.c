/* SPDX-License-Identifier: MIT */
#include "console/cli/command.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console/cli/nearest.h"
#include "console/cli/option.h"
#include "console/cli/terminal.h"

enum { KEY_USAGE = 0x10000 };

const struct command *const command_table[] = {
	&clean_command, &collect_command,  &copy_to_command, &demo_command, &diff_command,   &doctor_command,
	&drill_command, &dump_command,
	&env_command,   &explain_command, &findings_command, &help_command, &hosts_command, &ls_command,
	&metrics_command, &report_command,
	&run_command,   &save_command,     &suite_command, &top_command,  &trace_command,  &version_command, NULL,
};

const struct command *command_find(const char *name)
{
	for (const struct command *const *command = command_table; *command; command++) {
		if (!strcmp((*command)->name, name))
			return *command;
	}
	return NULL;
}

const struct command *command_nearest(const char *name)
{
	const struct command *best = NULL;
	size_t best_distance = SIZE_MAX;

	for (const struct command *const *command = command_table; *command; command++) {
		size_t distance = nearest_distance(name, (*command)->name);

		if (distance < best_distance) {
			best = *command;
			best_distance = distance;
		}
	}
	return best && nearest_is_near(name, best_distance) ? best : NULL;
}

/* argp takes its right margin from the environment only. A value of the user's is left alone. */
static bool margin_set(void)
{
	char format[48];

	if (getenv("ARGP_HELP_FMT"))
		return false;
	snprintf(format, sizeof(format), "no-dup-args-note,rmargin=%d", terminal_width(STDOUT_FILENO) - 1);
	return setenv("ARGP_HELP_FMT", format, 0) == 0;
}

/* argp's own message knows no nearest name. */
static void refuse_unknown(const struct argp *argp, int argc, char **argv, bool in_order)
{
	const char *unknown = option_unknown(argp, argc, argv, in_order);
	const struct argp_option *meant = unknown ? option_nearest(argp, unknown) : NULL;

	if (!unknown)
		return;
	fprintf(stderr, "%s: there is no option \"%s\"", argv[0], unknown);
	if (meant)
		fprintf(stderr, "; did you mean \"--%s\"?\n", meant->name);
	else
		fprintf(stderr, "; \"%s --help\" lists them\n", argv[0]);
	exit(COMMAND_MISUSE);
}

/* argp's own --help is -? only. */
static const struct argp_option help_options[] = {
	{ "help", 'h', NULL, 0, "Give this help list", -1 },
	{ NULL, '?', NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ "usage", KEY_USAGE, NULL, 0, "Give a short usage message", 0 },
	{ 0 },
};

static error_t parse_help(int key, char *argument, struct argp_state *state)
{
	(void)argument;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->input;
		return 0;
	case 'h':
	case '?':
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
		return 0;
	case KEY_USAGE:
		argp_state_help(state, state->out_stream, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void command_parse(const struct command *command, int argc, char **argv, unsigned flags, void *input)
{
	refuse_unknown(command->argp, argc, argv, flags & ARGP_IN_ORDER);
	bool set = margin_set();
	const struct argp_child children[] = { { .argp = command->argp }, { 0 } };
	const struct argp argp = { .options = help_options, .parser = parse_help, .children = children };
	error_t error = argp_parse(&argp, argc, argv, flags | ARGP_NO_HELP, NULL, input);

	/* `run` hands the environment to the job: it must not find this in it. */
	if (set)
		unsetenv("ARGP_HELP_FMT");
	if (!error)
		return;
	fprintf(stderr, "%s: %s\n", argv[0], strerror(error));
	exit(COMMAND_MISUSE);
}

void command_print_overview(FILE *out)
{
	fputs("Usage: rankwatch COMMAND [OPTION...]\n\n"
	      "Names the rank that makes a training job slow, stop or go NaN, and says why.\n\n"
	      "Commands:\n",
	      out);
	for (const struct command *const *command = command_table; *command; command++)
		fprintf(out, "  %-9s %s\n", (*command)->name, (*command)->summary);
	fputs("\nStart with:\n"
	      "  rankwatch run -- torchrun --nproc-per-node 8 train.py\n"
	      "  rankwatch top             the job while it runs\n"
	      "  rankwatch report          the job that has just died: who it was, and what was in flight\n"
	      "  rankwatch doctor          what works on this machine, and what is missing\n"
	      "  rankwatch help straggler  what a finding of this kind means, and what to do first\n"
	      "\n\"rankwatch help COMMAND\" says more. Exit status: 0 done, 1 failed, 2 misuse.\n",
	      out);
}
