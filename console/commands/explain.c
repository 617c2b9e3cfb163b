/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "base/paragraph.h"
#include "console/boxes/box_choice.h"
#include "console/boxes/box_runs.h"
#include "console/cli/command.h"
#include "console/cli/option.h"
#include "console/cli/terminal.h"
#include "console/client/collectors.h"
#include "console/replay/replay.h"
#include "console/report/scan_share.h"
#include "finding/step_text.h"
#include "finding/value.h"
#include "protocol/explanation.h"
#include "protocol/message.h"
#include "protocol/snapshot.h"

enum { ANSWER_MS = 3000, LABEL = 10 };

struct options {
	struct box_choice choice;
	bool json;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ ARGP_KEY_INIT, .child = &options->choice }, { 'J', .flag = &options->json }, { 0 },
	};

	return option_take(fields, key, argument, state);
}

static void print_job(FILE *out, const json_t *job, bool live)
{
	const char *id = value_text(job, "id");

	fprintf(out, "%-*s", LABEL, "job");
	foreign_put(out, id ? id : "?"); /* a line of its own would pass for one of ours */
	fprintf(out, ", %.0f rank%s", value_number(job, "processes", 0),
		value_number(job, "processes", 0) == 1 ? "" : "s");
	step_text_print(out, (uint64_t)value_number(job, "steps", 0), value_number(job, "first_step_ms", -1),
			value_number(job, "step_ms", -1));
	fputs(live ? "; from its collector\n" : "; from its black boxes\n", out);
}

/* Each line broken where the terminal ends; names of the job's are escaped there. */
static void print_broken(char *lines)
{
	char *rest = NULL;

	for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		paragraph_print(stdout, line, 0, LABEL, terminal_width(STDOUT_FILENO));
}

/* The body of a snapshot, and what its boxes say of scans. */
static int print_text(const json_t *snapshot, const json_t *scan, bool live)
{
	char *lines = NULL;
	size_t size;
	FILE *text = open_memstream(&lines, &size);

	if (!text)
		return COMMAND_FAILED;
	print_job(text, json_object_get(snapshot, "job"), live);
	explanation_print(text, "", LABEL, json_object_get(snapshot, "explanation"), live);
	scan_share_print(text, LABEL, scan);
	if (fclose(text) == 0 && lines)
		print_broken(lines);
	free(lines);
	return COMMAND_DONE;
}

/* Takes scan. */
static int print_json(const json_t *snapshot, json_t *scan, bool live)
{
	json_t *reported = json_deep_copy(json_object_get(snapshot, "explanation"));
	json_t *body =
	    json_pack("{s:O?, s:s, s:o, s:o}", "job", json_object_get(json_object_get(snapshot, "job"), "id"), "source",
		      live ? "collector" : "boxes", "scan", scan, "explanation", reported);
	int err = body ? json_dumpf(body, stdout, JSON_COMPACT | JSON_REAL_PRECISION(12)) : -1;

	json_decref(body);
	if (!err)
		putchar('\n');
	return err ? COMMAND_FAILED : COMMAND_DONE;
}

/* Takes scan. */
static int print(const struct options *options, const json_t *snapshot, json_t *scan, bool live)
{
	int status;

	if (options->json)
		return print_json(snapshot, scan, live);
	status = print_text(snapshot, scan, live);
	json_decref(scan);
	return status;
}

static void refuse_quietly(void *argument, const char *path, const char *why)
{
	(void)argument, (void)path, (void)why;
}

/* What the boxes of a living job say of scans now. directory: where its collector looks, "" or NULL none was named. */
static json_t *scan_of_job(const char *job, const char *directory)
{
	bool named = directory && *directory;
	char *path = named ? strdup(directory) : NULL;
	struct boxes boxes = { 0 };
	size_t first = 0, count = 0;
	json_t *scan;

	if ((!named || path) && boxes_open(&boxes, &path, named, refuse_quietly, NULL) == 0) {
		box_runs_keep_job(&boxes, job);
		count = boxes.count ? box_runs_entries(&boxes, 0, &first) : 0;
	}
	scan = scan_share_json(count ? &boxes.entries[first] : NULL, count);
	boxes_close(&boxes);
	free(path);
	return scan;
}

/* True: this collector's job was asked for, whether it answers or not. */
static bool is_asked_for(const struct options *options, const struct collector_answer *answer)
{
	return !options->choice.job || message_hello_is_of(answer->hello, options->choice.job);
}

static int explain_answer(const struct options *options, const struct collector_answer *answer)
{
	const char *job = value_text(answer->hello, "job");

	if (json_object_get(answer->snapshot, "explanation"))
		return print(options, answer->snapshot,
			     scan_of_job(job ? job : "", value_text(answer->hello, "directory")), true);
	foreign_line(stderr, "rankwatch explain: the collector of %s %s", job ? job : "a job",
		     json_is_true(json_object_get(answer->hello, "silent"))
			 ? "does not answer: it may be stopped"
			 : "does not answer: it is of another version, or has too much to do");
	return COMMAND_FAILED;
}

/* -1: no collector runs whose job was asked for. */
static int explain_living(const struct options *options)
{
	struct collectors collectors;
	int status = -1;

	if (collectors_find(&collectors, "[\"explanation\"]", ANSWER_MS) == 0)
		for (size_t i = 0; i < collectors.count; i++) {
			if (!is_asked_for(options, &collectors.answers[i]))
				continue;
			if (status >= 0 && !options->json)
				putchar('\n');
			int one = explain_answer(options, &collectors.answers[i]);
			status = status > one ? status : one;
		}
	collectors_free(&collectors);
	return status;
}

/* Each group of machines with one clock, and what it shows of its own ranks. */
static int explain_machine(const struct options *options, const struct replay *replay,
			   const struct replay_machine *machine, const json_t *scan)
{
	json_t *message = snapshot_json(&(struct snapshot_source){ .analysis = machine->analysis,
								   .job = replay_header(&replay->processes[0])->job,
								   .now_ns = machine->last_ns,
								   .realtime_offset_ns = machine->realtime_offset_ns },
					REQUEST_EXPLANATION, 0);
	char *name = replay->machine_count > 1 ? replay_machine_name(replay, machine) : NULL;
	int status = COMMAND_FAILED;

	if (name && !options->json)
		printf("%son %s, judged apart:\n", machine == replay->machines ? "" : "\n", name);
	if (name)
		json_object_set_new(json_object_get(json_object_get(message, "snapshot"), "explanation"), "machine",
				    json_string(name));
	if (message)
		status = print(options, json_object_get(message, "snapshot"), json_incref((json_t *)scan), false);
	else
		fprintf(stderr, "rankwatch explain: %s\n", strerror(ENOMEM));
	free(name);
	json_decref(message);
	return status;
}

static int explain_run(const struct options *options, struct boxes *boxes)
{
	struct replay replay;
	struct progress progress = { 0 };
	size_t first, count = box_runs_entries(boxes, 0, &first);
	json_t *scan = scan_share_json(&boxes->entries[first], count);
	int err = replay_open(&replay, &boxes->entries[first], count, NULL, NULL, &progress),
	    status = err ? COMMAND_FAILED : COMMAND_DONE;

	if (err)
		fprintf(stderr, "rankwatch explain: %s\n", strerror(-err));
	for (size_t i = 0; !err && i < replay.machine_count && status == COMMAND_DONE; i++)
		status = explain_machine(options, &replay, &replay.machines[i], scan);
	json_decref(scan);
	replay_close(&replay);
	return status;
}

static int explain_boxes(const struct options *options, const char *command)
{
	struct box_choice choice = options->choice;
	struct boxes boxes;
	int status = COMMAND_FAILED;

	choice.all = true; /* it says itself that there are more */
	if (box_choice_open(&choice, command, &boxes) == 0) {
		if (boxes.run_count > 1)
			fprintf(stderr,
				"%s: this is the newest of %zu runs there; --job NAME, or a file, chooses another\n",
				command, boxes.run_count);
		status = explain_run(options, &boxes);
	}
	if (status == COMMAND_DONE && boxes.refused)
		status = COMMAND_INCOMPLETE;
	boxes_close(&boxes);
	return status;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };
	int status = -1;

	command_parse(command, argc, argv, 0, &options);
	if (!options.choice.path_count)
		status = explain_living(&options);
	return status >= 0 ? status : explain_boxes(&options, argv[0]);
}

static const struct argp_option explain_options[] = {
	{ "json", 'J', NULL, 0, "One JSON object a job (docs/protocol.md, \"Explanation\")", 0 },
	{ 0 },
};

static const struct argp_child explain_children[] = { { .argp = &box_choice_every_argp }, { 0 } };

static const struct argp explain_argp = {
	.options = explain_options,
	.parser = parse,
	.children = explain_children,
	.doc = "Says of a job what looks like a failure and is none, or is one: which ranks of a pipeline log its loss "
	       "(the others log -1.0 or none), "
	       "whether the GPUs' memory has warmed up or goes on growing, how long it took to start up, which steps "
	       "take longer than the others and "
	       "whether a rank was late in them, and how many of its buffers were scanned for NaN and Inf. Without a "
	       "name: the jobs whose collectors "
	       "run; else the newest run of this user on this machine, from its black boxes.\v"
	       "Of each it says only what this job has shown, and otherwise that it is not known. The GPUs' memory "
	       "stands in the black boxes where a "
	       "collector of the same user noted it there.\n\n"
	       "Examples:\n"
	       "  rankwatch explain\n"
	       "  rankwatch explain --job llama-7b\n"
	       "  rankwatch explain /shared/boxes/slurm-81123\n"
	       "  rankwatch explain --json | jq .explanation.steps.long\n",
};

const struct command explain_command = {
	.name = "explain",
	.summary = "say what looks like a failure of the job, and is none",
	.argp = &explain_argp,
	.run = run,
};
