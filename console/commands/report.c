/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/foreign_text.h"
#include "console/boxes/box_choice.h"
#include "console/boxes/box_runs.h"
#include "console/cli/command.h"
#include "console/cli/option.h"
#include "console/cli/progress.h"
#include "console/cli/size.h"
#include "console/cli/terminal.h"
#include "console/flight_recorder/left_dumps.h"
#include "console/html/html_report.h"
#include "console/replay/replay.h"
#include "console/replay/seen_live.h"
#include "console/report/flight.h"
#include "console/report/inits.h"
#include "console/report/report_findings.h"
#include "console/report/run_head.h"
#include "console/trace/output.h"
#include "protocol/account_text.h"
#include "protocol/explanation.h"

enum { EXIT_WARNING = 4, EXIT_CRITICAL = 5 };

struct options {
	struct box_choice choice;
	const char *kernel_log, *html;
	bool notices, json, exit_code;
};

enum { KEY_EXIT_CODE = 0x100, KEY_HTML, KEY_KERNEL_LOG, KEY_NOTICES };

static void check(const struct options *options, struct argp_state *state)
{
	if (options->html && options->json)
		argp_error(state, "--html and --json: one of them");
	if (options->html && options->choice.all)
		argp_error(state, "a page holds one run: --job or a directory names it");
	if (options->html && !strcmp(options->html, "-") && isatty(STDOUT_FILENO))
		argp_error(state, "a page is nothing for a terminal: name a file, or a pipe behind it");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ ARGP_KEY_INIT, .child = &options->choice }, { KEY_EXIT_CODE, .flag = &options->exit_code },
		{ KEY_HTML, .text = &options->html }, { 'J', .flag = &options->json },
		{ KEY_KERNEL_LOG, .text = &options->kernel_log }, { KEY_NOTICES, .flag = &options->notices }, { 0 },
	};

	switch (key) {
	case ARGP_KEY_SUCCESS:
		check(options, state);
		return 0;
	default:
		return option_take(fields, key, argument, state);
	}
}

struct report {
	const struct options *options;
	const struct replay *replay;
	bool earlier; /* it is an earlier start of a job: only its findings are shown */
	bool again;   /* earlier starts of its job follow */
	size_t flights;
	bool truncated; /* a box could not be read to its end */
	enum rw_severity worst;
};

static void print_json_line(json_t *line)
{
	if (json_dumpf(line, stdout, JSON_COMPACT) == 0)
		putchar('\n');
}

/* Prints those that are asked for and notes the worst; returns how many. */
static size_t print_findings(struct report *report)
{
	const struct report_findings findings = {
		.list = report->replay->findings,
		.notices = report->options->notices,
		.json = report->options->json,
		.style = { .colour = terminal_has_colour(STDOUT_FILENO),
			   .whole = true,
			   .width = terminal_break_width(STDOUT_FILENO) },
	};

	report->worst = report_findings_worst(report->replay->findings, report->worst);
	return report_findings_print(stdout, &findings);
}

static void print_flight(void *argument, const struct analysis_flight *flight)
{
	struct report *report = argument;

	report->flights++;
	if (report->options->json) {
		json_t *line = json_pack("{s:o}", "flight", flight_to_json(report->replay, flight));

		print_json_line(line);
		json_decref(line);
		return;
	}
	if (report->flights == 1)
		puts("\nin flight at the end");
	flight_print(stdout, report->replay, flight, terminal_width(STDOUT_FILENO));
}

/* Behind the operations in flight: communicators that were still being made. */
static void print_end(struct report *report)
{
	char *inits = NULL;
	size_t size;
	FILE *stream = open_memstream(&inits, &size);
	size_t count = stream ? inits_print(stream, report->replay) : 0;

	if (!stream || fclose(stream) || !inits)
		puts("\n(no memory for the communicators that were being made)");
	else if (!count && !report->flights)
		puts("\nnothing was in flight at the end");
	else if (count)
		printf("%s%s", report->flights ? "" : "\nin flight at the end\n", inits);
	free(inits);
}

/* With "machine" where there are several. */
static void print_time(const struct replay *replay, const struct replay_machine *machine)
{
	struct analysis_account account;

	analysis_tell_account(machine->analysis, &account);
	seen_live_correct(replay, &account);
	json_t *explanation = explanation_json(machine->analysis);
	json_t *line = json_pack("{s:o, s:O?, s:o}", "time", account_json(&account), "loss",
				 json_object_get(explanation, "loss"), "explanation", explanation);
	char *name = replay->machine_count > 1 ? replay_machine_name(replay, machine) : NULL;

	if (name)
		json_object_set_new(line, "machine", json_string(name));
	free(name);
	print_json_line(line);
	json_decref(line);
}

/* The files that PyTorch has left, one line for each place. */
static void print_dumps(const struct report *report)
{
	json_t *dumps = left_dumps_find(report->replay), *place;
	size_t i;

	json_array_foreach(dumps, i, place)
	{
		json_t *line = json_pack("{s:O}", "flight_recorder", place);

		print_json_line(line);
		json_decref(line);
	}
	json_decref(dumps);
}

/* A process in its first init gives no sign of life: for how long it waited before it ended its box does not show. */
static const char *no_finding(const struct report *report)
{
	if (report->again && !report->earlier)
		return "no finding in this start; the earlier ones follow below";
	return inits_any(report->replay) ? "no finding, but ranks were waiting for others in the call that makes a "
					   "communicator: see the last lines"
					 : "no finding";
}

/* Which job, then the verdict: whoever reads this is in a hurry. What it rests on follows. */
static void print_text(struct report *report)
{
	int width = terminal_width(STDOUT_FILENO);

	if (report->earlier)
		run_head_print_earlier(stdout, report->replay, clock_realtime_ns(), width);
	else
		run_head_print_job(stdout, report->replay, width);
	if (print_findings(report) == 0)
		printf("\n%s\n", no_finding(report));
	if (report->earlier)
		return;
	putchar('\n');
	run_head_print_record(stdout, report->replay, clock_realtime_ns(), width);
	replay_visit_flights(report->replay, print_flight, report);
	print_end(report);
}

static void print_json(struct report *report)
{
	print_findings(report);
	if (report->earlier)
		return;
	replay_visit_flights(report->replay, print_flight, report);
	print_dumps(report);
	for (size_t i = 0; i < report->replay->machine_count; i++)
		print_time(report->replay, &report->replay->machines[i]);
}

static void note_cut(struct report *report)
{
	for (size_t i = 0; i < report->replay->count; i++) {
		const struct replay_process *process = &report->replay->processes[i];
		int err = feed_error(process->feed);

		if (!err)
			continue;
		report->truncated = true;
		foreign_line(stderr, "rankwatch report: %s: could not be read to its end: %s", process->path,
			     strerror(-err));
	}
}

static int report_run(struct report *report, struct boxes *boxes, size_t run)
{
	struct replay replay;
	struct progress progress = { 0 };
	size_t first, count = box_runs_entries(boxes, run, &first);
	int error = replay_open(&replay, &boxes->entries[first], count, report->options->kernel_log, NULL, &progress);

	report->replay = &replay;
	report->flights = 0;
	if (error)
		fprintf(stderr, "rankwatch report: %s\n", strerror(-error));
	else
		(report->options->json ? print_json : print_text)(report);
	note_cut(report);
	replay_close(&replay);
	return error;
}

/* Why the job had to be started again: a later start that is well would hide it. Each start by itself. */
static int report_earlier(struct report *report, struct boxes *boxes)
{
	report->earlier = true;
	for (size_t run = 0; (run = box_runs_earlier(boxes, run)) != 0;) {
		if (!report->options->json)
			putchar('\n');
		if (report_run(report, boxes, run) != 0)
			return COMMAND_FAILED;
	}
	return COMMAND_DONE;
}

static int report_runs(struct report *report, struct boxes *boxes)
{
	size_t runs = box_choice_runs(&report->options->choice, boxes);
	int status = COMMAND_DONE;

	report->again = !report->options->choice.all && box_runs_earlier(boxes, 0) != 0;
	for (size_t run = 0; run < runs; run++) {
		if (run && !report->options->json)
			putchar('\n');
		if (report_run(report, boxes, run) != 0)
			status = COMMAND_FAILED;
	}
	if (report->again && status == COMMAND_DONE)
		status = report_earlier(report, boxes);
	return status;
}

static int fail(const char *what, int err)
{
	foreign_line(stderr, "rankwatch report: %s: %s", what, strerror(-err));
	return COMMAND_FAILED;
}

static void say_page(const struct options *options, const struct html_report *page)
{
	struct stat status;
	char size[24] = "";

	if (stat(options->html, &status) == 0 && S_ISREG(status.st_mode))
		size_text(size, (uint64_t)status.st_size);
	foreign_line(stderr, "rankwatch report: %s: %s%s%zu rank%s, %zu finding%s", options->html, size,
		     *size ? ", " : "", page->ranks, page->ranks == 1 ? "" : "s", page->findings,
		     page->findings == 1 ? "" : "s");
}

static int write_page(struct report *report, struct boxes *boxes)
{
	static struct output output;
	const struct options *options = report->options;
	struct progress progress = { 0 };
	struct html_report page = { .kernel_log = options->kernel_log,
				    .command = "rankwatch report",
				    .progress = &progress };
	size_t first, count = box_runs_entries(boxes, 0, &first);
	int err = output_open(&output, options->html, false);

	if (err)
		return fail(options->html, err);
	err = html_report_write(output.stream, &page, &boxes->entries[first], count);
	if (err) {
		output_abandon(&output);
		return fail("not written", err);
	}
	err = output_finish(&output);
	if (err)
		return fail(options->html, err);
	say_page(options, &page);
	report->truncated = page.truncated;
	report->worst = page.critical ? RW_CRITICAL : page.warning ? RW_WARNING : RW_NOTICE;
	return COMMAND_DONE;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };
	struct report report = { .options = &options };
	struct boxes boxes;
	int status = COMMAND_FAILED;

	command_parse(command, argc, argv, 0, &options);
	options.choice.earlier = !options.html;
	if (box_choice_open(&options.choice, argv[0], &boxes) == 0)
		status = options.html ? write_page(&report, &boxes) : report_runs(&report, &boxes);
	if (status == COMMAND_DONE && (boxes.refused || report.truncated))
		status = COMMAND_INCOMPLETE;
	boxes_close(&boxes);
	/* What was found is so, whatever else there may be. */
	if (status == COMMAND_FAILED || !options.exit_code || report.worst == RW_NOTICE)
		return status;
	return report.worst == RW_CRITICAL ? EXIT_CRITICAL : EXIT_WARNING;
}

static const struct argp_option report_options[] = {
	{ "exit-code", KEY_EXIT_CODE, NULL, 0, "Exit with 4 when the worst finding is a warning, 5 when it is critical",
	  0 },
	{ "html", KEY_HTML, "FILE", 0,
	  "Write one HTML file instead, to be looked at in a browser, without a network; - is standard output", 0 },
	{ "json", 'J', NULL, 0,
	  "JSON lines: the findings, {\"flight\":{...}} for each operation that was in flight, "
	  "{\"flight_recorder\":{...}}: dumps that PyTorch left, {\"time\":{...}}: where it went",
	  0 },
	{ "kernel-log", KEY_KERNEL_LOG, "FILE", 0, KERNEL_LOG_DOC, 0 },
	{ "notices", KEY_NOTICES, NULL, 0, "Also findings that are true but no reason to act", 0 },
	{ 0 },
};

static const struct argp_child report_children[] = { { .argp = &box_choice_argp }, { 0 } };

static const struct argp report_argp = {
	.options = report_options,
	.parser = parse,
	.children = report_children,
	.doc =
	    "Says what became of a job, from its black boxes, what a collector kept beside them, and Xids in this "
	    "machine's kernel log: what was found, "
	    "which operations were in flight at "
	    "the end, who had joined them and who had not, and what the missing ranks' threads did. Needs no collector "
	    "and works after everything was killed. Without a name: the newest run of this user on this machine. Of a "
	    "job that was started "
	    "again the findings of its earlier starts follow, each judged by itself.\v"
	    "For several machines copy the boxes (*.rwbox, *.rwbox.gz) into one directory.\n\n"
	    "Examples:\n"
	    "  rankwatch report\n"
	    "  rankwatch report --html job.html rankwatch-boxes/\n"
	    "  rankwatch report --exit-code /shared/boxes/slurm-81123\n"
	    "  rankwatch report --json | jq 'select(.flight).flight.missing'\n",
};

const struct command report_command = {
	.name = "report",
	.summary = "say what became of a job, from its black boxes alone",
	.argp = &report_argp,
	.run = run,
};
