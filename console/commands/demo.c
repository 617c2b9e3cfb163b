/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "base/paragraph.h"
#include "console/cli/command.h"
#include "console/cli/option.h"
#include "console/cli/terminal.h"
#include "console/trials/demo_run.h"
#include "console/trials/demo_verdict.h"

struct options {
	const struct scenario *scenario;
	bool json, list, keep;
};

enum { KEY_KEEP = 0x100, KEY_LIST, SKIPPED = 77 };

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ 'J', .flag = &options->json }, { KEY_KEEP, .flag = &options->keep },
		{ KEY_LIST, .flag = &options->list }, { 0 },
	};

	switch (key) {
	case ARGP_KEY_ARG:
		if (state->arg_num > 0)
			argp_error(state, "one scenario at a time");
		options->scenario = scenario_find(argument);
		if (!options->scenario)
			argp_error(state, "there is no scenario \"%s\"; --list shows them", argument);
		return 0;
	default:
		return option_take(fields, key, argument, state);
	}
}

static void print_list(void)
{
	int width = isatty(STDOUT_FILENO) ? terminal_width(STDOUT_FILENO) : INT_MAX, longest = 0;

	for (size_t i = 0; i < scenario_count; i++) {
		int length = (int)strlen(scenarios[i].name);

		longest = length > longest ? length : longest;
	}
	for (size_t i = 0; i < scenario_count; i++) {
		char text[256];

		snprintf(text, sizeof(text), "%s%s", scenarios[i].description, i == 0 ? " (the default)" : "");
		printf("%-*s  ", longest, scenarios[i].name);
		paragraph_print(stdout, text, longest + 2, longest + 2, width);
	}
}

static bool sets(const char *const *variables, const char *name, size_t length)
{
	for (; variables && *variables; variables++)
		if (!strncmp(*variables, name, length))
			return true;
	return false;
}

/* What a job has to say to rankwatch by itself and does not here; a scenario's own stand in place of those of all. */
static void print_settings(const struct scenario *scenario, int width)
{
	const char *const *const parts[] = { scenario_environment, scenario->environment };
	char text[256] = "  set here:";

	for (size_t i = 0; i < 2; i++)
		for (const char *const *one = parts[i]; one && *one; one++) {
			size_t length = strcspn(*one, "=") + 1, used = strlen(text);
			if (strncmp(*one, "RANKWATCH_", 10) || (i == 0 && sets(parts[1], *one, length)))
				continue;
			snprintf(text + used, sizeof(text) - used, " %s", *one);
		}
	paragraph_print(stderr, text, 0, 2, width);
}

static void print_start(const struct scenario *scenario)
{
	int width = terminal_width(STDERR_FILENO);
	char text[256];

	snprintf(text, sizeof(text), "rankwatch demo: %s: %s", scenario->name, scenario->description);
	paragraph_print(stderr, text, 0, 2, width);
	snprintf(text, sizeof(text),
		 "  8 ranks for about %d s; NCCL and the GPUs are stand-ins on CPUs, processes and faults are real",
		 scenario->duration_s);
	paragraph_print(stderr, text, 0, 2, width);
	print_settings(scenario, width);
	if (sets(scenario->environment, "RANKWATCH_SCAN=all", 18))
		paragraph_print(stderr,
				"  every buffer is scanned: on CPUs the default budget would leave most of them out", 0,
				2, width);
}

/* "  named     straggler, io, in rank 0: right", in green or red where there is colour. */
static void print_judgement(const char *label, const char *text, bool right)
{
	bool colour = terminal_has_colour(STDERR_FILENO);

	fprintf(stderr, "  %-9s %s%s%s\n", label,
		!colour ? ""
		: right ? "\033[32m"
			: "\033[31m",
		text, colour ? "\033[0m" : "");
}

static int judge(const struct demo_run *demo, const struct scenario *scenario, int status)
{
	struct demo_verdict verdict;
	FILE *lines = fopen(demo->findings, "re");
	char text[96];

	if (!lines) {
		foreign_line(stderr, "rankwatch demo: %s: %s", demo->findings, strerror(errno));
		return COMMAND_FAILED;
	}
	demo_judge(&verdict, scenario, lines, demo->witness.saw_all);
	fclose(lines);
	fprintf(stderr, "rankwatch demo: %s\n", scenario->name);
	if (scenario->kind && scenario->rank < 0)
		fprintf(stderr, "  injected  %s, of all ranks\n", scenario->kind);
	else if (scenario->kind && scenario->peer)
		fprintf(stderr, "  injected  %s, between rank %d and rank %d\n", scenario->kind, scenario->rank,
			scenario->peer);
	else if (scenario->kind)
		fprintf(stderr, "  injected  %s%s%s, in rank %d\n", scenario->kind, scenario->cause ? ", " : "",
			scenario->cause ? scenario->cause : "", scenario->rank);
	else
		fputs("  injected  nothing\n", stderr);
	print_judgement("named", verdict.text, verdict.right);
	if (status != scenario->status) {
		snprintf(text, sizeof(text), "exit status %d, should be %d: wrong", status, scenario->status);
		print_judgement("job", text, false);
	}
	return verdict.right && status == scenario->status ? COMMAND_DONE : COMMAND_FAILED;
}

static int run_scenario(const struct options *options, struct demo_run *demo)
{
	int status = demo_run_wait(demo, options->json);

	if (demo->signal) {
		fprintf(stderr, "rankwatch demo: ended by signal %d\n", demo->signal);
		return 128 + demo->signal;
	}
	if (status == SKIPPED) {
		fputs("rankwatch demo: skipped: this machine cannot make the fault, for the reason above; \"rankwatch "
		      "demo "
		      "lock\" runs anywhere\n",
		      stderr);
		return SKIPPED;
	}
	return judge(demo, options->scenario, status);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { .scenario = &scenarios[0] };
	struct demo_run demo;
	int status = COMMAND_FAILED;

	command_parse(command, argc, argv, 0, &options);
	if (options.list) {
		print_list();
		return COMMAND_DONE;
	}
	print_start(options.scenario);
	int error = demo_run_start(&demo, options.scenario);

	if (error == -ENOENT && !demo.install.build_tree)
		foreign_line(
		    stderr,
		    "rankwatch demo: the stand-in for NCCL and the CUDA driver is not installed (%s): configure with "
		    "-Dinstall_sim=true, or run scripts/demo in rankwatch's source tree",
		    demo.failed);
	else if (error)
		foreign_line(stderr, "rankwatch demo: %s: %s", demo.failed, strerror(-error));
	else
		status = run_scenario(&options, &demo);
	if (!error && options.keep)
		foreign_line(stderr, "  kept      %s, and the black boxes: rankwatch report --job %s", demo.findings,
			     demo.job);
	else if (!error && status != SKIPPED)
		fprintf(stderr,
			"  removed   the black boxes that are named above; \"rankwatch demo %s --keep\" keeps them for "
			"report, trace and top\n",
			options.scenario->name);
	demo_run_close(&demo, options.keep);
	return status;
}

static const struct argp_option demo_options[] = {
	{ "json", 'J', NULL, 0, "Findings as JSON lines on standard output, as they change", 0 },
	{ "keep", KEY_KEEP, NULL, 0, "Keep the black boxes and the findings, and say where", 0 },
	{ "list", KEY_LIST, NULL, 0, "List the scenarios", 0 },
	{ 0 },
};

static const struct argp demo_argp = {
	.options = demo_options,
	.parser = parse,
	.args_doc = "[SCENARIO]",
	.doc =
	    "Runs a training-like job of 8 ranks with a real fault in it, under \"rankwatch run\", and checks that the "
	    "fault is named. Needs no GPU: NCCL and the CUDA driver are stand-ins on CPUs. The first scenario has "
	    "rank 0 write its log to a slow disk, in a thread of its own.\v"
	    "The exit status is 0 when rank and cause were named as injected, 1 when not, 77 when this machine cannot "
	    "make the fault (a slow disk needs root or FUSE, a limit a cgroup).\n\n"
	    "Examples:\n"
	    "  rankwatch demo\n"
	    "  rankwatch demo killed --json | jq .text\n"
	    "  rankwatch demo never --keep && rankwatch report\n",
};

const struct command demo_command = {
	.name = "demo",
	.summary = "run a job with a fault in it on stand-in GPUs, and find it",
	.argp = &demo_argp,
	.runs_foreign = true,
	.run = run,
};
