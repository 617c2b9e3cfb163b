/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "console/cli/command.h"
#include "console/cli/option.h"
#include "console/cli/terminal.h"
#include "console/compare/comparison_text.h"

/* As diff(1). */
enum { EXIT_SAME = 0, EXIT_DIFFERENT = 1, EXIT_TROUBLE = 2 };

enum { KEY_DETERMINISTIC = 0x100 };

struct options {
	char *paths[TIMES_SIDES];
	bool json, deterministic;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ KEY_DETERMINISTIC, .flag = &options->deterministic }, { 'J', .flag = &options->json }, { 0 },
	};

	switch (key) {
	case ARGP_KEY_ARG:
		if (state->arg_num >= TIMES_SIDES)
			argp_error(state, "two runs are compared, not more");
		options->paths[state->arg_num] = argument;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < TIMES_SIDES)
			argp_error(state, "name two runs: directories or files with their black boxes");
		return 0;
	default:
		return option_take(fields, key, argument, state);
	}
}

static void print(const struct options *options, const struct comparison *comparison,
		  const struct side sides[TIMES_SIDES])
{
	const struct comparison_style style = { .colour = terminal_has_colour(STDOUT_FILENO),
						.width = terminal_break_width(STDOUT_FILENO),
						.deterministic = options->deterministic };

	if (!options->json) {
		comparison_print(stdout, comparison, options->paths, sides, &style);
		return;
	}
	json_t *value = comparison_json(comparison, options->paths, sides, options->deterministic);

	if (value && json_dumpf(value, stdout, JSON_COMPACT | JSON_REAL_PRECISION(12)) == 0)
		putchar('\n');
	json_decref(value);
}

static int compare(const struct options *options, const struct side sides[TIMES_SIDES], const char *command)
{
	struct comparison comparison = { 0 };
	struct progress progress = { 0 };
	int status = EXIT_TROUBLE, err = compare_runs(&comparison, sides, command, &progress);

	if (err)
		fprintf(stderr, "%s: %s\n", command, strerror(-err));
	else
		print(options, &comparison, sides);
	bool nothing = !comparison.calls && !comparison_differs(&comparison, options->deterministic);

	if (nothing && !err)
		fprintf(stderr, "%s: the two runs have no calls that could be compared\n", command);
	if (!err && !nothing && !comparison.truncated && !sides[TIMES_A].boxes.refused && !sides[TIMES_B].boxes.refused)
		status = comparison_differs(&comparison, options->deterministic) ? EXIT_DIFFERENT : EXIT_SAME;
	comparison_free(&comparison);
	return status;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };
	struct side sides[TIMES_SIDES] = { 0 };
	int status = EXIT_TROUBLE;

	command_parse(command, argc, argv, 0, &options);
	if (!side_open(&sides[TIMES_A], options.paths[TIMES_A], argv[0]) &&
	    !side_open(&sides[TIMES_B], options.paths[TIMES_B], argv[0]))
		status = compare(&options, sides, argv[0]);
	side_close(&sides[TIMES_A]);
	side_close(&sides[TIMES_B]);
	return status;
}

static const struct argp_option diff_options[] = {
	{ "deterministic", KEY_DETERMINISTIC, NULL, 0,
	  "The program should give the same bits each time: digests that differ are a difference, too", 0 },
	{ "json", 'J', NULL, 0, "One JSON object: docs/diff.md", 0 },
	{ 0 },
};

static const struct argp diff_argp = {
	.options = diff_options,
	.parser = parse,
	.args_doc = "A B",
	.doc =
	    "Compares two runs of a program by their black boxes, rank by rank and call by call: the first call whose "
	    "function, count, type, root or reduction differs; the first NaN or Inf that one of them has alone; from "
	    "where "
	    "on the largest values differ by more than 5 %; the first bits that differ; and which kinds of operation "
	    "take "
	    "longer in one of them than chance explains. A and B are directories or files; of a directory with several "
	    "runs the newest is taken.\v"
	    "Exit status: 0 no difference, 1 differences, 2 trouble, as with diff(1). A run that is longer than the "
	    "other is no "
	    "difference.\n\n"
	    "Examples:\n"
	    "  rankwatch run --save before -- torchrun train.py; rankwatch run --save after -- torchrun train.py\n"
	    "  rankwatch diff before after\n"
	    "  rankwatch diff --deterministic --json good bad | jq '.bits[0]'\n",
};

const struct command diff_command = {
	.name = "diff",
	.summary = "compare two runs: where calls, values and times part",
	.argp = &diff_argp,
	.run = run,
};
