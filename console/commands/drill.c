/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "console/cli/command.h"
#include "console/cli/option.h"
#include "console/install/install.h"
#include "console/trials/drill_verdict.h"
#include "drill/delay.h"
#include "identity/watchdog.h"

extern char **environ;

enum { EXIT_NOT_NAMED = 4 };
enum { KEY_AFTER = 0x100, KEY_DELAY, KEY_EVERY, KEY_FOR, KEY_RANK, KEY_YES };
enum { AFTER_MS = 10000, EVERY_DELAYS = 10, RANK_MOST = 1 << 20 };

struct options {
	long rank;
	uint64_t delay_ms, for_ms, every_ms, after_ms;
	bool json, yes, after;
	char **command;
};

static uint64_t duration(const char *text, const char *name, uint64_t most_ms, struct argp_state *state)
{
	uint64_t ms = watchdog_duration_ms(text, 1000);

	if (!ms || ms > most_ms)
		argp_error(state, "%s: \"%s\" is no time between 1ms and %" PRIu64 "s (50ms, 20s, 5m)", name, text,
			   most_ms / 1000);
	return ms;
}

static void check(struct options *options, struct argp_state *state)
{
	if (options->rank < 0)
		argp_error(state, "which rank? --rank N");
	if (!options->delay_ms || !options->for_ms)
		argp_error(state, "how long? --delay 50ms (each time) and --for 20s (in all)");
	if (!options->every_ms)
		options->every_ms = EVERY_DELAYS * options->delay_ms;
	if (options->every_ms < 2 * options->delay_ms)
		argp_error(state, "--every must be twice --delay at least: the rank is to be late, not stopped");
	if (!options->after)
		options->after_ms = AFTER_MS;
	if (!options->command)
		argp_error(state, "what is to be run? rankwatch drill … -- COMMAND");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ KEY_YES, .flag = &options->yes }, { 'J', .flag = &options->json }, { 0 },
	};
	char *end;

	switch (key) {
	case ARGP_KEY_INIT:
		options->rank = -1;
		return 0;
	case KEY_AFTER:
		options->after_ms = duration(argument, "--after", DRILL_FOR_MAX_NS / 1000000, state);
		options->after = true;
		return 0;
	case KEY_DELAY:
		options->delay_ms = duration(argument, "--delay", DRILL_DELAY_MAX_NS / 1000000, state);
		return 0;
	case KEY_EVERY:
		options->every_ms = duration(argument, "--every", DRILL_FOR_MAX_NS / 1000000, state);
		return 0;
	case KEY_FOR:
		options->for_ms = duration(argument, "--for", DRILL_FOR_MAX_NS / 1000000, state);
		return 0;
	case KEY_RANK:
		options->rank = strtol(argument, &end, 10);
		if (end == argument || *end || options->rank < 0 || options->rank > RANK_MOST)
			argp_error(state, "--rank: \"%s\" is no rank", argument);
		return 0;
	case ARGP_KEY_ARGS:
		options->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_SUCCESS:
		check(options, state);
		return 0;
	default:
		return option_take(fields, key, argument, state);
	}
}

/* Nobody's job is slowed by mistake. */
static bool is_agreed(const struct options *options)
{
	char answer[8] = "";

	fprintf(stderr,
		"rankwatch drill: rank %ld of this job will sleep %" PRIu64
		" ms before an NCCL call, at most every %" PRIu64
		" ms, for %.3g s,\n  beginning %.3g s after its first call. Every rank that waits for it is slower for "
		"that time; nothing of it "
		"stays.\n",
		options->rank, options->delay_ms, options->every_ms, (double)options->for_ms / 1e3,
		(double)options->after_ms / 1e3);
	if (options->yes)
		return true;
	if (!isatty(STDIN_FILENO)) {
		fputs("rankwatch drill: nobody is there to agree; --yes does\n", stderr);
		return false;
	}
	fputs("rankwatch drill: go on? [y/N] ", stderr);
	return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* In front of what `run` preloads: whoever is called first can be late for all that is recorded. */
static const char shell[] = "LD_PRELOAD=\"$1${LD_PRELOAD:+:$LD_PRELOAD}\"; export LD_PRELOAD; shift; exec \"$@\"";

static char **run_arguments(const struct options *options, struct install *install, char *findings)
{
	char *head[] = { install->program,  (char *)"run", (char *)"--findings", findings,     (char *)"--",
			 (char *)"/bin/sh", (char *)"-c",  (char *)shell,        (char *)"sh", install->drill };
	size_t fixed = sizeof(head) / sizeof(head[0]), count = 0;

	while (options->command[count])
		count++;
	char **arguments = calloc(fixed + count + 1, sizeof(*arguments));

	if (!arguments)
		return NULL;
	memcpy(arguments, head, sizeof(head));
	memcpy(arguments + fixed, options->command, count * sizeof(*arguments));
	return arguments;
}

static volatile sig_atomic_t child;

static void pass_on(int number)
{
	if (child > 0)
		kill(child, number);
}

/* The job's status; -errno when it could not be started. */
static int run_job(const struct options *options, struct install *install, char *findings)
{
	char **arguments = run_arguments(options, install, findings);
	struct sigaction passing = { .sa_handler = pass_on, .sa_flags = SA_RESTART },
			 ignored = { .sa_handler = SIG_IGN }, before;
	int status = 0, err;
	pid_t pid;

	if (!arguments)
		return -ENOMEM;
	err = posix_spawn(&pid, install->program, NULL, NULL, arguments, environ);
	free(arguments);
	if (err)
		return -err;
	child = pid;
	sigaction(SIGTERM, &passing, NULL);
	sigaction(SIGINT, &ignored, &before); /* the terminal sends it to `run`, too */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &before, NULL);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The lines that are JSON; a new array. */
static json_t *read_lines(const char *path)
{
	json_t *lines = json_array(), *value;
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0)
		if ((value = json_loads(line, 0, NULL)))
			json_array_append_new(lines, value);
	free(line);
	if (file)
		fclose(file);
	return lines;
}

static int judge(const struct options *options, const char *log, const char *findings)
{
	json_t *events = read_lines(log), *reported = read_lines(findings);
	struct drill_verdict verdict;

	drill_verdict_reach(&verdict, events, reported, (int32_t)options->rank);
	if (options->json) {
		json_t *value = drill_verdict_json(&verdict, (int32_t)options->rank);

		if (value && json_dumpf(value, stdout, JSON_COMPACT) == 0)
			putchar('\n');
		json_decref(value);
	} else {
		drill_verdict_print(stderr, &verdict, (int32_t)options->rank);
	}
	int status = verdict.named && !verdict.other ? COMMAND_DONE : EXIT_NOT_NAMED;

	json_decref(events);
	json_decref(reported);
	return status;
}

static int drill_in(const struct options *options, struct install *install, const char *directory)
{
	char log[DRILL_LOG], findings[DRILL_LOG], *plan = NULL;

	snprintf(log, sizeof(log), "%s/log", directory);
	snprintf(findings, sizeof(findings), "%s/findings", directory);
	if (asprintf(&plan, "%ld %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s", options->rank,
		     options->delay_ms * 1000000, options->every_ms * 1000000, options->after_ms * 1000000,
		     options->for_ms * 1000000, log) < 0)
		return COMMAND_FAILED;
	setenv(DRILL_VARIABLE, plan, 1);
	free(plan);
	int status = run_job(options, install, findings);

	if (status < 0)
		fprintf(stderr, "rankwatch drill: the job cannot be started: %s\n", strerror(-status));
	else if (status)
		fprintf(stderr, "rankwatch drill: the job's exit status was %d\n", status);
	status = status < 0 ? COMMAND_FAILED : judge(options, log, findings);
	unlink(log);
	unlink(findings);
	return status;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };
	static struct install install;
	char directory[] = "/tmp/rankwatch-drill-XXXXXX";

	command_parse(command, argc, argv, ARGP_IN_ORDER, &options);
	if (install_find(&install) || access(install.drill, R_OK)) {
		foreign_line(stderr, "rankwatch drill: %s: %s", install.drill, strerror(errno));
		return COMMAND_FAILED;
	}
	if (strpbrk(install.drill, " :\t\n")) {
		foreign_line(stderr,
			     "rankwatch drill: %s: its path has a space or a colon, which LD_PRELOAD takes for an end",
			     install.drill);
		return COMMAND_FAILED;
	}
	if (!is_agreed(&options))
		return COMMAND_FAILED;
	if (!mkdtemp(directory)) {
		foreign_line(stderr, "rankwatch drill: %s: %s", directory, strerror(errno));
		return COMMAND_FAILED;
	}
	int status = drill_in(&options, &install, directory);

	rmdir(directory);
	return status;
}

static const struct argp_option drill_options[] = {
	{ "after", KEY_AFTER, "TIME", 0, "Begin so long after the rank's first NCCL call (10s)", 0 },
	{ "delay", KEY_DELAY, "TIME", 0, "How long each delay is, at most 5s: 50ms", 0 },
	{ "every", KEY_EVERY, "TIME", 0, "At most one delay in this time (10 times the delay); best is about a step",
	  0 },
	{ "for", KEY_FOR, "TIME", 0, "How long it goes on, at most 10m: 20s", 0 },
	{ "json", 'J', NULL, 0, "The verdict as one JSON object on standard output", 0 },
	{ "rank", KEY_RANK, "N", 0, "The rank to delay", 0 },
	{ "yes", KEY_YES, NULL, 0, "Do not ask whether to go on", 0 },
	{ 0 },
};

static const struct argp drill_argp = {
	.options = drill_options,
	.parser = parse,
	.args_doc = "--rank N --delay TIME --for TIME -- COMMAND [ARGUMENT...]",
	.doc = "A fire drill: runs COMMAND as `rankwatch run` does, makes one rank late on purpose, and says whether "
	       "that rank, and no "
	       "other, was named. A library of its own, preloaded for this run alone, sleeps before NCCL calls of that "
	       "rank; it asks "
	       "first, is bounded in length, and ends by itself while the job goes on.\v"
	       "Exit status: 0 the rank was named and no other, 1 failed, 2 misuse, 4 not named, or another one was. "
	       "The job's own status is "
	       "said.\n\n"
	       "Examples:\n"
	       "  rankwatch drill --rank 3 --delay 200ms --for 60s -- torchrun --nproc-per-node 8 train.py\n"
	       "  rankwatch drill --yes --json --rank 0 --delay 50ms --every 400ms --for 20s -- ./train | jq "
	       ".named_after_ms\n",
};

const struct command drill_command = {
	.name = "drill",
	.summary = "make one rank late on purpose, and see whether it is named",
	.argp = &drill_argp,
	.runs_foreign = true,
	.run = run,
};
