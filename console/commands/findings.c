/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/foreign_text.h"
#include "console/cli/command.h"
#include "console/cli/option.h"
#include "console/cli/terminal.h"
#include "console/client/collector_client.h"
#include "console/run/start_line.h"
#include "finding/announcer.h"
#include "finding/written.h"

struct options {
	const char *job;
	bool follow, json;
};

struct listener {
	struct options options;
	struct collector_client client;
	struct finding_style style;
	struct announcer announcer; /* with --follow, not of JSON: what is news to people */
	struct written written;     /* with --follow, of JSON: each finding from its beginning to its end */
	char *job;                  /* that the collector serves, as it has said */
	bool greeted;
	json_int_t expected; /* open findings that follow the hello and have not come yet */
	size_t printed;
	pid_t peer; /* the collector; 0 not known */
};

enum { ANSWER_MS = 3000, ANNOUNCE_MS = 100 };

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ 'f', .flag = &options->follow }, { 'j', .text = &options->job }, { 'J', .flag = &options->json },
		{ 0 },
	};

	return option_take(fields, key, argument, state);
}

static bool is_shown(const json_t *finding)
{
	const char *severity = json_string_value(json_object_get(finding, "severity"));

	return json_object_get(finding, "schema") && (!severity || strcmp(severity, "notice") != 0);
}

static void print(struct listener *listener, const json_t *finding)
{
	if (listener->options.json) {
		json_dumpf(finding, stdout, JSON_COMPACT | JSON_REAL_PRECISION(12));
		putchar('\n');
	} else {
		finding_print(stdout, finding, &listener->style);
	}
	fflush(stdout);
	listener->printed++;
}

static void print_change(struct listener *listener, const json_t *message)
{
	char *line = written_line(&listener->written, message);

	if (line)
		puts(line);
	fflush(stdout);
	listener->printed += line != NULL;
	free(line);
}

/* Whose findings these are is said once; only what is of another job says so itself. */
static void greet(struct listener *listener, const json_t *hello)
{
	const char *job = json_string_value(json_object_get(hello, "job"));

	listener->greeted = true;
	listener->expected = json_integer_value(json_object_get(hello, "open"));
	if (!listener->announcer.text || !job || listener->job)
		return;
	listener->job = strdup(job);
	listener->announcer.style.job = listener->job;
	if (json_is_true(json_object_get(hello, "all_nodes")))
		foreign_line(stderr,
			     "rankwatch findings: job %s, all nodes: %lld hosts with %lld ranks are heard, %lld of "
			     "these hosts are silent now",
			     job, (long long)json_integer_value(json_object_get(hello, "hosts")),
			     (long long)json_integer_value(json_object_get(hello, "ranks")),
			     (long long)json_integer_value(json_object_get(hello, "silent")));
	else
		start_line_print(stderr, &(struct start_line){ .who = "rankwatch findings", .job = job }, hello,
			 terminal_break_width(STDERR_FILENO));
}

static void on_message(void *argument, const json_t *message)
{
	struct listener *listener = argument;
	const json_t *hello = json_object_get(message, "hello");

	if (hello) {
		greet(listener, hello);
		return;
	}
	if (json_object_get(message, "schema"))
		listener->expected--;
	if (listener->announcer.text)
		announcer_take(&listener->announcer, message, clock_monotonic_ns());
	else if (listener->options.follow)
		print_change(listener, message);
	else if (is_shown(message))
		print(listener, message);
}

static bool is_done(const struct listener *listener)
{
	return !listener->options.follow && listener->greeted && listener->expected <= 0;
}

static bool awaits_answer(const struct listener *listener)
{
	return !listener->greeted || listener->expected > 0;
}

/* What is open comes at once, from a collector that runs; what changes later comes when it changes. */
static int patience_ms(const struct listener *listener)
{
	if (awaits_answer(listener))
		return ANSWER_MS;
	return announcer_waits(&listener->announcer) ? ANNOUNCE_MS : -1;
}

static void announce(struct listener *listener)
{
	announcer_tick(&listener->announcer, clock_monotonic_ns());
	fflush(stdout);
}

/* 0 when everything has been printed, -ETIMEDOUT, or -errno as collector_client_read(). */
static int listen_to_collector(struct listener *listener)
{
	int err = 0;

	while (!err && !is_done(listener) && !ferror(stdout)) {
		struct pollfd wait = { .fd = listener->client.fd, .events = POLLIN };
		int ready = poll(&wait, 1, patience_ms(listener));

		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready)
			err = collector_client_read(&listener->client);
		else if (awaits_answer(listener))
			err = -ETIMEDOUT;
		announce(listener);
	}
	return err;
}

/* A full queue of those who want to be let in means the same. */
static bool is_silence(int err)
{
	return err == -ETIMEDOUT || err == -EAGAIN;
}

static int say_silent(const struct listener *listener)
{
	char process[32] = "";

	if (listener->peer > 0)
		snprintf(process, sizeof(process), " (process %d)", (int)listener->peer);
	foreign_line(
	    stderr,
	    "rankwatch findings: the collector%s does not answer: it may be stopped; \"rankwatch report\" reads the "
	    "black boxes without one",
	    process);
	return COMMAND_FAILED;
}

static int no_collector(const struct options *options, int err)
{
	char why[64] = "";

	if (err != -ENOENT && err != -EXDEV)
		snprintf(why, sizeof(why), " (%s)", strerror(-err));
	foreign_line(stderr,
		     "rankwatch findings: no collector%s%s%s; \"rankwatch report\" reads the black boxes without one",
		     options->job ? " serves job " : " is running", options->job ? options->job : "", why);
	return COMMAND_FAILED;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct listener listener = { .client = { .fd = -1 } };
	int err;

	command_parse(command, argc, argv, 0, &listener.options);
	listener.style = (struct finding_style){ .colour = terminal_has_colour(STDOUT_FILENO),
						 .clock = true,
						 .width = terminal_break_width(STDOUT_FILENO),
						 .job = listener.options.job ? listener.options.job : "" };
	if (listener.options.follow && !listener.options.json)
		listener.announcer = (struct announcer){ .text = stdout, .style = listener.style };
	err = collector_client_open(&listener.client, listener.options.job, COLLECTOR_CLIENT_ALL_NODES_FIRST,
				    on_message, &listener);
	if (!err) {
		listener.peer = collector_client_peer(&listener.client);
		err = listen_to_collector(&listener);
	}
	collector_client_close(&listener.client);
	announcer_finish(&listener.announcer);
	written_free(&listener.written);
	free(listener.job);
	if (is_silence(err))
		return say_silent(&listener);
	if (err && !(err == -EPIPE && listener.greeted))
		return no_collector(&listener.options, err);
	if (err)
		fputs("rankwatch findings: the collector has ended\n", stderr);
	else if (!listener.printed)
		fputs("rankwatch findings: nothing is open\n", stderr);
	return COMMAND_DONE;
}

static const struct argp_option findings_options[] = {
	{ "follow", 'f', NULL, 0, "Go on and print changes until the collector ends", 0 },
	{ "job", 'j', "NAME", 0, "The collector of this job; otherwise whichever runs", 0 },
	{ "json", 'J', NULL, 0, "One JSON object a line (docs/findings.md)", 0 },
	{ 0 },
};

static const struct argp findings_argp = {
	.options = findings_options,
	.parser = parse,
	.doc =
	    "Prints the findings that are open now, as the running collector of this user has them: that of all nodes "
	    "(\"rankwatch collect --all-nodes\"), if one runs here, else that of this node.\v"
	    "Findings of severity notice are left out.\n\n"
	    "Examples:\n"
	    "  rankwatch findings --follow\n"
	    "  rankwatch findings --json | jq .text\n",
};

const struct command findings_command = {
	.name = "findings",
	.summary = "print what a running collector has found",
	.argp = &findings_argp,
	.run = run,
};
