/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "console/boxes/box_choice.h"
#include "console/boxes/box_runs.h"
#include "console/cli/command.h"
#include "console/cli/option.h"
#include "console/cli/progress.h"
#include "console/report/job_share.h"
#include "console/trace/export.h"
#include "console/trace/output.h"
#include "identity/decimal.h"

enum { KEY_FORMAT = 0x100, KEY_MERGE, KEY_RANK, KEY_AROUND, KEY_SECONDS, AROUND_S = 10 };

struct options {
	struct box_choice choice;
	const char *output;
	const struct trace_format *format; /* NULL: by the output's name */
	struct export_merges merges;
	struct export_choice wanted;
};

/* Which format a name asks for; what comes behind .gz is the name without it. */
static const struct {
	const char *ending;
	const struct trace_format *format;
} endings[] = {
	{ ".pftrace", &trace_perfetto },
	{ ".perfetto-trace", &trace_perfetto },
	{ ".json", &trace_chrome },
};

enum { ENDINGS = sizeof(endings) / sizeof(*endings) };

static bool ends_with(const char *text, size_t length, const char *ending)
{
	size_t size = strlen(ending);

	return length >= size && !memcmp(text + length - size, ending, size);
}

static bool is_packed(const char *name)
{
	return ends_with(name, strlen(name), ".gz");
}

static const struct trace_format *format_of(const char *name)
{
	size_t length = strlen(name) - (is_packed(name) ? strlen(".gz") : 0);

	for (size_t i = 0; i < ENDINGS; i++)
		if (ends_with(name, length, endings[i].ending))
			return endings[i].format;
	return NULL;
}

static const struct trace_format *format_named(const char *name)
{
	for (size_t i = 0; i < ENDINGS; i++)
		if (!strcmp(name, endings[i].format->name))
			return endings[i].format;
	return NULL;
}

static void check(struct options *options, struct argp_state *state)
{
	if (!options->output)
		argp_error(state, "where to? Name a file: -o job.pftrace");
	if (!options->format)
		options->format = format_of(options->output);
	if (!options->format)
		argp_error(state, "\"%s\" ends in none of .pftrace, .json, .json.gz: --format says what is wanted",
			   options->output);
	if (options->merges.count && !options->format->raw)
		argp_error(state, "--merge needs Chrome's JSON, in which PyTorch's profiler writes: -o job.json.gz");
	if (!strcmp(options->output, "-") && isatty(STDOUT_FILENO))
		argp_error(state, "a trace is nothing for a terminal: name a file, or a pipe behind it");
}

static void add_merge(struct options *options, char *path, struct argp_state *state)
{
	char **paths = realloc(options->merges.paths, (options->merges.count + 1) * sizeof(*paths));

	if (!paths)
		argp_failure(state, COMMAND_FAILED, ENOMEM, "--merge");
	options->merges.paths = paths;
	paths[options->merges.count++] = path;
}

static void set_rank(struct options *options, const char *text, struct argp_state *state)
{
	uint64_t rank;
	const char *rest = decimal_whole(text, INT32_MAX, &rank);

	if (!rest || *rest)
		argp_error(state, "--rank: \"%s\" is no rank", text);
	else
		options->wanted.rank = (int32_t)rank;
}

static void set_seconds(struct options *options, const char *text, struct argp_state *state)
{
	uint64_t seconds;
	const char *rest = decimal_whole(text, 86400, &seconds);

	if (!rest || *rest || !seconds)
		argp_error(state, "--seconds: \"%s\" is none of 1 to 86400", text);
	else
		options->wanted.around_s = (uint32_t)seconds;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ ARGP_KEY_INIT, .child = &options->choice }, { 'o', .text = &options->output },
		{ KEY_AROUND, .text = &options->wanted.around }, { 0 },
	};

	switch (key) {
	case KEY_FORMAT:
		options->format = format_named(argument);
		if (!options->format)
			argp_error(state, "there is no format \"%s\": perfetto, chrome", argument);
		return 0;
	case KEY_RANK:
		set_rank(options, argument, state);
		return 0;
	case KEY_SECONDS:
		set_seconds(options, argument, state);
		return 0;
	case KEY_MERGE:
		add_merge(options, argument, state);
		return 0;
	case ARGP_KEY_SUCCESS:
		check(options, state);
		return 0;
	default:
		return option_take(fields, key, argument, state);
	}
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void say_result(const struct options *options, const struct export_result *result, uint64_t left_out)
{
	char share[JOB_SHARE_TEXT];

	foreign_line(stderr,
		     "rankwatch trace: %s: %s on %zu host%s, from black boxes (level " JOB_SHARE_LEVEL
		     "): %llu operations (%llu in flight at the end), "
		     "%zu finding%s",
		     options->output, job_share_text(share, result->ranks, result->ranks_total), result->hosts,
		     plural(result->hosts), (unsigned long long)result->counts.operations,
		     (unsigned long long)result->counts.unfinished, result->findings, plural(result->findings));
	if (options->wanted.around)
		foreign_line(stderr, "rankwatch trace: of these, what reaches into the %u s before and after %s%s",
			     (unsigned)options->wanted.around_s, options->wanted.around,
			     strncmp(options->wanted.around, "step ", 5) ? " began" : "");
	if (result->clocks > 1)
		fputs("rankwatch trace: not all hosts saw the same collectives end, so some stand side by side by "
		      "their wall clocks, as exactly "
		      "as those agree: the order of what happened on two such hosts is not proven by it\n",
		      stderr);
	if (options->merges.count)
		fprintf(stderr, "rankwatch trace: %llu events of PyTorch's profiler beside them\n",
			(unsigned long long)result->merged);
	if (left_out)
		fprintf(stderr, "rankwatch trace: %llu operations are tied to no other rank: more instances than fit\n",
			(unsigned long long)left_out);
}

static int fail(const char *what, int err)
{
	foreign_line(stderr, "rankwatch trace: %s: %s", what,
		     err == -ENOTSUP ? "this build lacks protobuf-c; --format chrome can be had" : strerror(-err));
	return COMMAND_FAILED;
}

static int write_trace(const struct options *options, struct boxes *boxes)
{
	static struct output output;
	struct trace_sink sink = { .format = options->format };
	struct export_result result;
	struct progress progress = { 0 };
	size_t first, count = box_runs_entries(boxes, 0, &first);
	int err = output_open(&output, options->output, is_packed(options->output));

	if (err)
		return fail(options->output, err);
	sink.out = output.stream;
	err = export_run(&sink, &boxes->entries[first], count, &options->merges, &options->wanted, "rankwatch trace",
			 &progress, &result);
	if (err) {
		output_abandon(&output);
		return err == -EBADMSG ? COMMAND_FAILED : fail("not written", err);
	}
	err = output_finish(&output);
	if (err)
		return fail(options->output, err);
	say_result(options, &result, sink.flows_left_out);
	return boxes->refused || result.truncated ? COMMAND_INCOMPLETE : COMMAND_DONE;
}

static int write_newest(const struct options *options, struct boxes *boxes)
{
	if (boxes->run_count > 1)
		fprintf(stderr, "rankwatch trace: this is the newest of %zu runs; --job or a directory names another\n",
			boxes->run_count);
	return write_trace(options, boxes);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { .wanted = { .rank = -1, .around_s = AROUND_S } };
	struct boxes boxes;
	int status = COMMAND_FAILED;

	command_parse(command, argc, argv, 0, &options);
	options.choice.all = true; /* what there is beside the newest run is said here, in our own words */
	if (box_choice_open(&options.choice, argv[0], &boxes) == 0)
		status = write_newest(&options, &boxes);
	free(options.merges.paths);
	boxes_close(&boxes);
	return status;
}

static const struct argp_option trace_options[] = {
	{ "format", KEY_FORMAT, "FORMAT", 0, "perfetto or chrome; otherwise by the file's name", 0 },
	{ "around", KEY_AROUND, "WHAT", 0,
	  "Write only what reaches into the time around the begin of this finding: its id, or a kind as \"hang\" for "
	  "the first of it; or \"step N\": around that step",
	  0 },
	{ "seconds", KEY_SECONDS, "N", 0, "How long before and after, with --around; otherwise 10", 0 },
	{ "rank", KEY_RANK, "N", 0,
	  "Write only this rank, as programs want it that read a file a rank; the others are read all the same", 0 },
	{ "merge", KEY_MERGE, "FILE", 0,
	  "Also write the events of this trace of PyTorch's profiler (Chrome's JSON, also .gz), on the same clock; "
	  "once for each "
	  "rank that has one",
	  0 },
	{ "output", 'o', "FILE", 0,
	  "Where to: .pftrace is Perfetto's format, .json Chrome's, with .gz behind it compressed; - is standard "
	  "output",
	  0 },
	{ 0 },
};

static const struct argp_child trace_children[] = { { .argp = &box_choice_every_argp }, { 0 } };

static const struct argp trace_argp = {
	.options = trace_options,
	.parser = parse,
	.children = trace_children,
	.doc = "Writes what black boxes hold of a run as a trace for ui.perfetto.dev, chrome://tracing and programs "
	       "that read "
	       "PyTorch's traces: the collectives of each rank on its GPU and its threads, where those threads stood, "
	       "what was "
	       "in flight at the end, and the findings. Needs no collector; the job may be alive or dead. Without a "
	       "name: the "
	       "newest run of this user on this machine.\v"
	       "Findings are those of \"rankwatch report\". What stands on which track: docs/trace.md.\n\n"
	       "Examples:\n"
	       "  rankwatch trace -o job.pftrace\n"
	       "  rankwatch trace -o job.json.gz /shared/boxes/slurm-81123\n"
	       "  rankwatch trace -o job.pftrace --around straggler\n"
	       "  rankwatch trace -o job.json.gz --merge rank0.pt.trace.json.gz\n"
	       "  rankwatch trace --format chrome -o - | jq '.traceEvents | length'\n",
};

const struct command trace_command = {
	.name = "trace",
	.summary = "write a trace for Perfetto, Chrome or Kineto's readers",
	.argp = &trace_argp,
	.run = run,
};
