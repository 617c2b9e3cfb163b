/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "console/cli/command.h"
#include "console/cli/option.h"
#include "console/metrics/scrape.h"
#include "console/metrics/server.h"

#define DEFAULT_ADDRESS "127.0.0.1:9982"

enum { KEY_ONCE = 0x100, KEY_COMMUNICATORS, KEY_ALL_NODES };

struct options {
	struct scrape_choice choice;
	const char *listen;
	struct server_address address;
	bool once;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ 'j', .text = &options->choice.job }, { KEY_ALL_NODES, .flag = &options->choice.all_nodes },
		{ KEY_COMMUNICATORS, .flag = &options->choice.communicators }, { KEY_ONCE, .flag = &options->once },
		{ 0 },
	};

	switch (key) {
	case 'l':
		options->listen = argument;
		if (server_address_parse(argument, &options->address))
			argp_error(state, "--listen %s: not ADDRESS:PORT, [IPV6]:PORT or PORT", argument);
		return 0;
	default:
		return option_take(fields, key, argument, state);
	}
}

static int print_once(const struct options *options)
{
	size_t length;
	char *text = scrape(&options->choice, EXPOSITION_TEXT, &length);
	bool written = text && fwrite(text, 1, length, stdout) == length && fflush(stdout) == 0;

	if (!text)
		fputs("rankwatch metrics: there is no memory left\n", stderr);
	else if (!written)
		perror("rankwatch metrics: standard output");
	free(text);
	return written ? COMMAND_DONE : COMMAND_FAILED;
}

/* Blocked before the server has its thread, which inherits that. */
static void hold_signals(sigset_t *held)
{
	sigemptyset(held);
	sigaddset(held, SIGINT);
	sigaddset(held, SIGTERM);
	sigprocmask(SIG_BLOCK, held, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int serve(const struct options *options)
{
	const char *where = options->listen ? options->listen : DEFAULT_ADDRESS;
	char why[128] = "there is no memory left";
	sigset_t held;
	int number;

	hold_signals(&held);

	struct server *server = server_open(&options->address, &options->choice, why, sizeof(why));

	if (!server) {
		foreign_line(stderr, "rankwatch metrics: cannot listen at %s: %s", where, why);
		return COMMAND_FAILED;
	}
	foreign_line(stderr, "rankwatch metrics: http://%s%s%s:%s/metrics until Ctrl-C",
		     strchr(options->address.host, ':') ? "[" : "",
		     *options->address.host ? options->address.host : "0.0.0.0",
		     strchr(options->address.host, ':') ? "]" : "", options->address.port);
	sigwait(&held, &number);
	server_close(server);
	return COMMAND_DONE;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };

	server_address_parse(DEFAULT_ADDRESS, &options.address);
	command_parse(command, argc, argv, 0, &options);
	return options.once ? print_once(&options) : serve(&options);
}

static const struct argp_option metrics_options[] = {
	{ "job", 'j', "JOB", 0,
	  "only of this job; otherwise of every job of yours that a collector on this machine watches", 0 },
	{ "listen", 'l', "[ADDRESS:]PORT", 0,
	  "where to answer; " DEFAULT_ADDRESS
	  " if left out. Anybody who can reach it reads the names of jobs and hosts",
	  0 },
	{ "all-nodes", KEY_ALL_NODES, NULL, 0,
	  "what `rankwatch collect --all-nodes` on this machine knows of whole jobs, instead of what the collectors of "
	  "this node know",
	  0 },
	{ "communicators", KEY_COMMUNICATORS, NULL, 0,
	  "also how many operations each rank has called in each communicator: a series for each, as many as ranks "
	  "have communicators",
	  0 },
	{ "once", KEY_ONCE, NULL, 0,
	  "print the metrics and end, for the textfile collector of Prometheus's node exporter", 0 },
	{ 0 },
};

static const struct argp metrics_argp = {
	.options = metrics_options,
	.parser = parse,
	.doc = "Answers Prometheus with what the collectors of this machine know: steps, and for each rank how long it "
	       "worked, waited and was "
	       "waited for, what it stands in, and the findings that are open.\n"
	       "It is started once per machine and user, not once per job: it finds collectors as they come and go, "
	       "and asks them when it is "
	       "asked.\v"
	       "Examples:\n"
	       "  rankwatch metrics\n"
	       "  rankwatch metrics --listen 0.0.0.0:9982\n"
	       "  rankwatch metrics --all-nodes --listen 0.0.0.0:9983\n"
	       "  rankwatch metrics --once > /var/lib/node_exporter/rankwatch.prom\n",
};

const struct command metrics_command = {
	.name = "metrics",
	.summary = "answer Prometheus with what every rank does, waits for and costs",
	.argp = &metrics_argp,
	.run = run,
};
