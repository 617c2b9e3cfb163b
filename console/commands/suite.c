/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console/cli/command.h"
#include "console/cli/json_line.h"
#include "console/cli/progress.h"
#include "console/cli/terminal.h"
#include "console/trials/suite_tally.h"
#include "identity/decimal.h"

enum { KEY_FIRST = 0x100, KEY_JOBS, KEY_RANKS, KEY_FAULT, KEY_SHAPE, KEY_PER_HOST };
enum {
	JOBS = 300,
	RANKS = 32,
	RANKS_LEAST = 8,
	RANKS_MOST = 1024,
	PER_HOST_MOST = 64,
	JOBS_MOST = 1000000,
	SEED_MOST = 1000000000,
	UNWANTED_MOST = 100000
};

struct options {
	unsigned first, jobs, ranks;
	unsigned per_host; /* 0: one collector sees all ranks */
	int fault, shape; /* -1: all */
	char **seeds;     /* of the command line; NULL: those from `first` on */
	int seed_count;
	bool json, drawn; /* drawn: an option chose among jobs that are not named one by one */
};

static volatile sig_atomic_t ended_by;

static unsigned number(struct argp_state *state, const char *what, const char *text, uint64_t least, uint64_t most)
{
	uint64_t value = 0;
	const char *rest = decimal_whole(text, most, &value);

	if (!rest || *rest || value < least)
		argp_error(state, "%s: \"%s\" is no number from %lu to %lu", what, text, (unsigned long)least,
			   (unsigned long)most);
	return (unsigned)value;
}

static const char *fault_name(int fault)
{
	return suite_fault_name((enum suite_fault)fault);
}

static const char *shape_name(int shape)
{
	return suite_shape_name((enum suite_shape)shape);
}

/* By its name among `count`. */
static int named(struct argp_state *state, const char *option, const char *text, const char *(*name)(int), int count)
{
	char all[512] = "";

	for (int i = 0; i < count; i++)
		if (!strcmp(text, name(i)))
			return i;
	for (int i = 0; i < count; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s\"%s\"", i ? ", " : "", name(i));
	argp_error(state, "%s: there is no \"%s\"; there are %s", option, text, all);
	return -1;
}

static void take_seeds(struct options *options, struct argp_state *state)
{
	options->seeds = &state->argv[state->next];
	options->seed_count = state->argc - state->next;
	for (int i = 0; i < options->seed_count; i++)
		number(state, "SEED", options->seeds[i], 0, SEED_MOST);
	state->next = state->argc;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	options->drawn |= key == KEY_FIRST || key == KEY_JOBS || key == KEY_FAULT || key == KEY_SHAPE;
	switch (key) {
	case 'J':
		options->json = true;
		return 0;
	case KEY_FIRST:
		options->first = number(state, "--first", argument, 0, SEED_MOST);
		return 0;
	case KEY_JOBS:
		options->jobs = number(state, "--jobs", argument, 1, JOBS_MOST);
		return 0;
	case KEY_RANKS:
		options->ranks = number(state, "--ranks", argument, RANKS_LEAST, RANKS_MOST);
		return 0;
	case KEY_PER_HOST:
		options->per_host = number(state, "--per-host", argument, 1, PER_HOST_MOST);
		return 0;
	case KEY_FAULT:
		options->fault = named(state, "--fault", argument, fault_name, FAULTS);
		return 0;
	case KEY_SHAPE:
		options->shape = named(state, "--shape", argument, shape_name, SHAPES);
		return 0;
	case ARGP_KEY_ARGS:
		take_seeds(options, state);
		return 0;
	case ARGP_KEY_END:
		if (options->seeds && options->drawn)
			argp_error(state, "--first, --jobs, --fault and --shape choose jobs, and so does SEED");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void note_end(int signal)
{
	ended_by = signal;
}

/* After the job that is being played the tables are printed. A second signal ends the program at once. */
static void catch_ends(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	const struct sigaction action = { .sa_handler = note_end, .sa_flags = SA_RESETHAND };

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaction(ends[i], &action, NULL);
}

/* What plays a job again, but for its number: with another limit of ranks the same number is another job. */
static void write_again(const struct options *options, char *again, size_t room)
{
	char ranks[32] = "", per_host[32] = "";

	if (options->ranks != RANKS)
		snprintf(ranks, sizeof(ranks), " --ranks %u", options->ranks);
	if (options->per_host)
		snprintf(per_host, sizeof(per_host), " --per-host %u", options->per_host);
	snprintf(again, room, "rankwatch suite%s%s", ranks, per_host);
}

static struct suite_draw draw_job(const struct options *options, unsigned seed)
{
	struct suite_draw draw = suite_draw(seed, (int)options->ranks);

	draw.apart = options->per_host;
	draw.per_host = options->per_host ? (int)options->per_host : draw.per_host;
	return draw;
}

/* With --per-host, not those that have room on one host. */
static bool is_wanted(const struct options *options, const struct suite_draw *draw)
{
	return (options->fault < 0 || (int)draw->fault == options->fault) &&
	       (options->shape < 0 || (int)draw->shape == options->shape) &&
	       (!draw->apart || draw->ranks > draw->per_host);
}

/* reported: each finding goes there, too. 0 or -ENOMEM. */
static int play(const struct options *options, struct suite_tally *tally, const struct suite_draw *draw, FILE *reported)
{
	struct suite_result result;
	char again[64];

	suite_judge(draw, &result, reported);
	if (suite_tally_add(tally, draw, &result))
		return -ENOMEM;
	write_again(options, again, sizeof(again));
	if (options->json) {
		json_line_print(suite_tally_job_json(&tally->jobs[tally->count - 1], again));
		fflush(stdout);
	}
	return 0;
}

/* Not every fault can be in jobs of every shape and size: it does not search for ever. Returns 0, -ENOMEM, or -ENOENT:
 * fewer jobs than wanted were found, and that has been said. */
static int play_drawn(const struct options *options, struct suite_tally *tally)
{
	struct progress progress = { .silent = options->json && isatty(STDOUT_FILENO) };
	unsigned unwanted = 0;
	int err = 0;

	progress_begin(&progress, "playing", options->jobs, "job");
	for (unsigned seed = options->first;
	     tally->count < options->jobs && unwanted < UNWANTED_MOST && !ended_by && !err; seed++) {
		struct suite_draw draw = draw_job(options, seed);
		if (!is_wanted(options, &draw)) {
			unwanted++;
			continue;
		}
		unwanted = 0;
		err = play(options, tally, &draw, NULL);
		progress_show(&progress, tally->count, options->jobs);
	}
	progress_end(&progress);
	if (unwanted == UNWANTED_MOST)
		fprintf(stderr, "rankwatch suite: no such job is among the %d numbers up to %u\n", UNWANTED_MOST,
			tally->count ? tally->jobs[tally->count - 1].draw.seed + UNWANTED_MOST
				     : options->first + UNWANTED_MOST - 1);
	return unwanted == UNWANTED_MOST ? -ENOENT : err;
}

static int width(void)
{
	return isatty(STDOUT_FILENO) ? terminal_width(STDOUT_FILENO) : INT_MAX;
}

/* One by one, with all that is reported about each. */
static int play_seeds(const struct options *options, struct suite_tally *tally)
{
	int err = 0;

	for (int i = 0; i < options->seed_count && !ended_by && !err; i++) {
		uint64_t seed = 0;
		decimal_whole(options->seeds[i], SEED_MOST, &seed);
		struct suite_draw draw = draw_job(options, (unsigned)seed);
		err = play(options, tally, &draw, options->json ? NULL : stdout);
		if (!err && !options->json)
			suite_tally_print_job(&tally->jobs[tally->count - 1], stdout, width());
	}
	return err;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { .jobs = JOBS, .ranks = RANKS, .fault = -1, .shape = -1 };
	struct suite_tally tally = { 0 };
	char again[64];

	command_parse(command, argc, argv, 0, &options);
	catch_ends();
	int err = options.seeds ? play_seeds(&options, &tally) : play_drawn(&options, &tally);
	write_again(&options, again, sizeof(again));
	if (ended_by)
		fprintf(stderr, "rankwatch suite: ended by signal %d after %zu job%s\n", (int)ended_by, tally.count,
			tally.count == 1 ? "" : "s");
	if (err && err != -ENOENT)
		fprintf(stderr, "rankwatch suite: %s\n", strerror(-err));
	else if (options.json)
		json_line_print(suite_tally_json(&tally, ended_by != 0));
	else if (!options.seeds && tally.count)
		suite_tally_print(&tally, again, stdout, width());
	bool wrong = suite_tally_count(&tally, VERDICT_WRONG) || suite_tally_count(&tally, VERDICT_FALSE);
	suite_tally_free(&tally);
	return err ? COMMAND_FAILED : ended_by ? 128 + ended_by : wrong ? COMMAND_FAILED : COMMAND_DONE;
}

static const struct argp_option suite_options[] = {
	{ "first", KEY_FIRST, "SEED", 0,
	  "The number of the first job (default 0): the same number is the same job on every machine", 0 },
	{ "jobs", KEY_JOBS, "N", 0, "How many jobs are played (default 300)", 0 },
	{ "ranks", KEY_RANKS, "N", 0, "Jobs of at most so many ranks, 8 to 1024 (default 32)", 0 },
	{ "per-host", KEY_PER_HOST, "N", 0,
	  "Jobs over hosts of N ranks each, 1 to 64: each host has a collector of its own, and the job is judged by "
	  "their messages, of which one in 20 is lost and one in 20 comes late (default: one collector sees all ranks)",
	  0 },
	{ "fault", KEY_FAULT, "NAME", 0, "Jobs with this fault only, as the table names it; \"healthy\": without one",
	  0 },
	{ "shape", KEY_SHAPE, "NAME", 0, "Jobs of this shape only: FSDP, DDP, HSDP, TP or pipeline", 0 },
	{ "json", 'J', NULL, 0, "A JSON object for each job as it is played, and one with the sums: docs/testing.md",
	  0 },
	{ 0 },
};

static const struct argp suite_argp = {
	.options = suite_options,
	.parser = parse,
	.args_doc = "[SEED...]",
	.doc = "Measures how often this rankwatch is right: plays generated jobs, two of three with a fault, through "
	       "the analysis as a collector would "
	       "see them, holds what is reported against what is wrong with them, and prints how often that was right. "
	       "Starts no process, "
	       "needs no GPU, and takes a fraction of a second for each job.\v"
	       "With SEED it plays the jobs of these numbers only and prints every finding. Ctrl-C ends it with the "
	       "tables of what was played so "
	       "far. The exit status is 0 when no healthy rank was named, and 1 when one was.\n\n"
	       "Examples:\n"
	       "  rankwatch suite\n"
	       "  rankwatch suite --first 8000000 --jobs 750\n"
	       "  rankwatch suite --fault creep --shape pipeline --jobs 50\n"
	       "  rankwatch suite --per-host 4\n"
	       "  rankwatch suite 44\n",
};

const struct command suite_command = {
	.name = "suite",
	.summary = "play generated jobs with and without faults, and count what is right",
	.argp = &suite_argp,
	.run = run,
};
