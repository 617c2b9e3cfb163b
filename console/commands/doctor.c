/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/paragraph.h"
#include "console/cli/command.h"
#include "console/cli/json_line.h"
#include "console/cli/option.h"
#include "console/cli/terminal.h"
#include "console/client/nats_choice.h"
#include "console/doctor/check.h"
#include "console/dump/box_json.h"

/* In the order in which they depend on each other. */
static const struct check *const checks[] = {
	&nccl_check,       &defects_check, &abi_check,      &plugin_check,    &variable_check,
	&interposer_check, &kernel_check,  &gpu_check,      &scan_check,      &nvml_check,
	&kernel_log_check, &ports_check,   &box_check,      &watchdog_check,  &collector_check,
	&nats_check,
};

static const struct {
	const char *name, *colour;
} verdicts[] = {
	[VERDICT_OK] = { "ok", "\033[32m" },
	[VERDICT_WARNING] = { "warning", "\033[33m" },
	[VERDICT_NO] = { "no", "\033[31m" },
	[VERDICT_NONE] = { "none", "\033[2m" },
};

/* As `report` has them. */
enum { EXIT_WARNING = 4, EXIT_NO = 5 };
enum { KEY_EXIT_CODE = 0x100, TEXT_COLUMN = 31 };

struct options {
	bool json, exit_code;
	struct nats_choice nats;
	char **command;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ ARGP_KEY_INIT, .child = &options->nats }, { 'J', .flag = &options->json },
		{ KEY_EXIT_CODE, .flag = &options->exit_code }, { 0 },
	};

	switch (key) {
	case ARGP_KEY_ARGS:
		options->command = state->argv + state->next;
		return 0;
	default:
		return option_take(fields, key, argument, state);
	}
}

static const char *from_environment(void *argument, const char *name)
{
	(void)argument;
	return getenv(name);
}

static void print_json(const struct check *check, const struct check_result *result)
{
	json_t *line =
	    json_pack("{s:s, s:s, s:o, s:o}", "check", check->name, "verdict", verdicts[result->verdict].name, "text",
		      box_json_text(result->text, sizeof(result->text)), "advice",
		      *result->advice ? box_json_text(result->advice, sizeof(result->advice)) : json_null());

	json_line_print(line);
}

static void print_text(const struct check *check, const struct check_result *result)
{
	bool colour = terminal_has_colour(STDOUT_FILENO);
	int width = terminal_width(STDOUT_FILENO);

	printf("%s%-7s%s  %-20s  ", colour ? verdicts[result->verdict].colour : "", verdicts[result->verdict].name,
	       colour ? "\033[0m" : "", check->name);
	paragraph_print(stdout, result->text, TEXT_COLUMN, TEXT_COLUMN, width);
	if (*result->advice) {
		printf("%*s→ ", TEXT_COLUMN - 2, "");
		paragraph_print(stdout, result->advice, TEXT_COLUMN, TEXT_COLUMN, width);
	}
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };
	struct check_context context = { .root = "", .get = from_environment };
	static struct check_result result;
	int worst = COMMAND_DONE;

	command_parse(command, argc, argv, ARGP_IN_ORDER, &options);
	context.command = options.command;
	context.nats = options.nats.url;
	if (install_find(&context.install) != 0) {
		fputs("rankwatch doctor: /proc/self/exe cannot be read: is /proc mounted?\n", stderr);
		return COMMAND_FAILED;
	}
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		result = (struct check_result){ 0 };
		checks[i]->run(&context, &result);
		if (options.json)
			print_json(checks[i], &result);
		else
			print_text(checks[i], &result);
		if (result.verdict == VERDICT_NO)
			worst = EXIT_NO;
		else if (result.verdict == VERDICT_WARNING && worst == COMMAND_DONE)
			worst = EXIT_WARNING;
		fflush(stdout);
	}
	return options.exit_code ? worst : COMMAND_DONE;
}

static const struct argp_option doctor_options[] = {
	{ "exit-code", KEY_EXIT_CODE, NULL, 0, "Exit with 4 when the worst verdict is a warning, 5 when it is a no",
	  0 },
	{ "json", 'J', NULL, 0, "One JSON object a line: check, verdict, text, advice", 0 },
	{ 0 },
};

static const struct argp_child doctor_children[] = { { .argp = &nats_choice_argp }, { 0 } };

static const struct argp doctor_argp = {
	.options = doctor_options,
	.children = doctor_children,
	.parser = parse,
	.args_doc = "[-- COMMAND [ARGUMENT...]]",
	.doc =
	    "Checks, one line each, what rankwatch needs and what it could use here: NCCL and its profiler ABI, the "
	    "plugin, "
	    "who sets NCCL_PROFILER_PLUGIN, the kernel's view, GPU progress and health, the place for black boxes, the "
	    "watchdog, "
	    "the "
	    "collector, the NATS server that brings the nodes of a job together. A line that is not ok says what to "
	    "do. Run it where the job runs, with the job's command: the "
	    "command is not started, only its interpreter and its arguments are looked at.\v"
	    "A line that says none is about something that this machine lacks and need not have. The exit status is 0 "
	    "when the checks were made, whatever they found; --exit-code says it.\n\n"
	    "Examples:\n"
	    "  rankwatch doctor -- torchrun --nproc-per-node 8 train.py\n"
	    "  rankwatch doctor --exit-code -- python train.py || exit 1\n"
	    "  rankwatch doctor --json | jq -r 'select(.verdict == \"no\").check'\n",
};

const struct command doctor_command = {
	.name = "doctor",
	.summary = "check what works on this machine, and say what to do",
	.argp = &doctor_argp,
	.runs_foreign = true,
	.run = run,
};
