/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/descriptor_limit.h"
#include "collector/collector.h"
#include "collector/job_collector.h"
#include "console/boxes/kept_boxes.h"
#include "console/cli/command.h"
#include "console/cli/option.h"
#include "console/client/nats_choice.h"
#include "console/client/sink_choice.h"
#include "console/replay/kernel_xids.h"

enum { KEY_UNTIL_IDLE = 0x100, KEY_KERNEL_LOG, KEY_ANCESTOR, KEY_ALL_NODES, KEY_HOST };

struct options {
	struct collector_options collector;
	struct sink_choice sinks;
	struct nats_choice nats;
	bool all_nodes, json;
};

/* What belongs to the node's own collector alone. */
static void check_all_nodes(const struct options *chosen, struct argp_state *state)
{
	const struct collector_options *options = &chosen->collector;
	const char *other = options->directory ? "--dir" :
		options->host		       ? "--host" :
		options->kernel_log	       ? "--kernel-log" :
		chosen->sinks.save	       ? "--save" :
						 NULL;

	if (!chosen->all_nodes)
		return;
	if (other)
		argp_error(state, "%s is of a node's own collector, and --all-nodes reads no node", other);
	if (!chosen->nats.url)
		argp_error(state, "--all-nodes: name the NATS server: --nats URL, or " NATS_CHOICE_VARIABLE);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *chosen = state->input;
	struct collector_options *options = &chosen->collector;
	const struct option_field fields[] = {
		{ 'J', .flag = &chosen->json }, { KEY_ALL_NODES, .flag = &chosen->all_nodes },
		{ 'd', .text = &options->directory }, { 'j', .text = &options->job },
		{ 'q', .flag = &options->quiet }, { KEY_KERNEL_LOG, .text = &options->kernel_log },
		{ KEY_UNTIL_IDLE, .flag = &options->until_idle }, { 0 },
	};

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &chosen->sinks;
		state->child_inputs[1] = &chosen->nats;
		return 0;
	case ARGP_KEY_END:
		check_all_nodes(chosen, state);
		if (chosen->json && chosen->sinks.findings && strcmp(chosen->sinks.findings, "-") != 0)
			argp_error(state, "--json is --findings -, and %s is named", chosen->sinks.findings);
		if (chosen->json)
			chosen->sinks.findings = "-";
		return 0;
	case KEY_HOST:
		if (!*argument || strlen(argument) > 63)
			argp_error(state, "--host: a name has 1 to 63 bytes");
		options->host = argument;
		return 0;
	case KEY_ANCESTOR:
		options->ancestor = atoi(argument);
		if (options->ancestor <= 0 || fcntl(options->ancestor, F_SETFD, FD_CLOEXEC))
			argp_error(state, "--ancestor-fd: \"%s\" is no descriptor", argument);
		return 0;
	default:
		return option_take(fields, key, argument, state);
	}
}

static int collect_all_nodes(const struct options *options)
{
	const struct job_collector_options job = {
		.job = options->collector.job,
		.nats = options->nats.url,
		.findings = options->sinks.findings,
		.on_finding = options->sinks.on_finding,
		.until_idle = options->collector.until_idle,
		.quiet = options->collector.quiet,
	};

	return job_collector_run(&job) == COLLECTOR_DONE ? COMMAND_DONE : COMMAND_FAILED;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };

	command_parse(command, argc, argv, 0, &options);

	const char *complaint = nats_choice_complaint(&options.nats);

	if (complaint)
		fprintf(stderr,
			"rankwatch collect: " NATS_CHOICE_VARIABLE
			" is not nats://[USER:PASSWORD@]HOST[:PORT]: %s: nothing is "
			"published\n",
			complaint);
	if (options.all_nodes)
		return collect_all_nodes(&options);
	options.collector.nats = options.nats.url;
	options.collector.findings = options.sinks.findings;
	options.collector.on_finding = options.sinks.on_finding;
	options.collector.save = options.sinks.save;
	options.collector.save_limit = options.sinks.save_limit_bytes;
	kept_boxes_trim_beside(options.sinks.keep_bytes, "rankwatch collect");
	descriptor_limit_raise();
	return collector_run(&options.collector) == COLLECTOR_DONE ? COMMAND_DONE : COMMAND_FAILED;
}

static const struct argp_option collect_options[] = {
	{ "all-nodes", KEY_ALL_NODES, NULL, 0,
	  "Watch no rank here, but hear the collectors of all nodes of the job, through NATS, and judge them together",
	  0 },
	{ "dir", 'd', "DIRECTORY", 0, "Look for black boxes here too; without --job those of any job in it are taken",
	  0 },
	{ "host", KEY_HOST, "NAME", 0,
	  "What this host is called, otherwise as SLURMD_NODENAME, NODE_NAME or the machine says; each name has a "
	  "collector of its own",
	  0 },
	{ "job", 'j', "NAME", 0, "The job to watch; otherwise as the environment names it, else \"local\"", 0 },
	{ "json", 'J', NULL, 0, "Findings as JSON lines on standard output instead of text on standard error", 0 },
	{ "kernel-log", KEY_KERNEL_LOG, "FILE", 0, KERNEL_LOG_DOC, 0 },
	{ "ancestor-fd", KEY_ANCESTOR, "N", OPTION_HIDDEN,
	  "Asks there for what only an ancestor of the job may read of its processes", 0 },
	{ "quiet", 'q', NULL, 0, "Print neither findings nor the level nor a summary", 0 },
	{ "until-idle", KEY_UNTIL_IDLE, NULL, 0,
	  "End when neither a process of the job nor a client has been there for 3 s; with --all-nodes when the "
	  "collectors of all nodes "
	  "that were heard have ended",
	  0 },
	{ 0 },
};

static const struct argp_child collect_children[] = { { .argp = &sink_choice_argp },
						      { .argp = &nats_choice_argp },
						      { 0 } };

static const struct argp collect_argp = {
	.options = collect_options,
	.parser = parse,
	.children = collect_children,
	.doc = "Watches the black boxes of one job on this node, and its processes as deeply as the kernel and your "
	       "rights allow, and prints findings as they open and close. \"rankwatch run\" starts it by itself.\v"
	       "Only one collector serves a job on a node; \"rankwatch findings\" listens to it. Ends at SIGINT and "
	       "SIGTERM.\n\n"
	       "Examples:\n"
	       "  rankwatch collect --job slurm-81123\n"
	       "  rankwatch collect --findings /var/log/rankwatch.jsonl --quiet\n"
	       "  rankwatch collect --all-nodes --job slurm-81123 --nats nats://head:4222\n",
};

const struct command collect_command = {
	.name = "collect",
	.summary = "watch the ranks of a job on this node, or all of its nodes",
	.argp = &collect_argp,
	.run = run,
};
