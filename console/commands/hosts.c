/* SPDX-License-Identifier: MIT */
#include <ctype.h>
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
#include "console/cli/terminal.h"
#include "console/report/job_share.h"
#include "console/report/ledger.h"

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

static bool stands_out(const struct ledger_entry *entry)
{
	return entry->chance < LEDGER_CHANCE;
}

static void print_entry(const struct ledger_entry *entry, enum ledger_sort sort, bool colour)
{
	char *name = foreign_text(entry->name), *host = foreign_text(entry->host), chance[24] = "";
	bool odd = stands_out(entry);

	snprintf(chance, sizeof(chance), entry->chance >= 0.0995 ? "%.0f %%" : "%.2g %%", entry->chance * 100);
	printf("%s%c %-40s %5u %6u %9.1f %6u %5u %4u   %-9s%s", odd && colour ? "\033[1;33m" : "", odd ? '*' : ' ',
	       name ? name : "?", entry->jobs, entry->named_in, entry->expected, entry->named[LEDGER_LATE],
	       entry->named[LEDGER_LAST], entry->named[LEDGER_BAD], chance, odd && colour ? "\033[0m" : "");
	if (sort == LEDGER_GPU)
		printf(" %s", host ? host : "?");
	putchar('\n');
	free(name);
	free(host);
}

static void print_sort(const struct ledger *ledger, enum ledger_sort sort)
{
	bool colour = terminal_has_colour(STDOUT_FILENO);
	size_t count = ledger->counts[sort], shown = 0;

	for (size_t i = 0; i < count; i++)
		shown += ledger->entries[sort][i].named_in > 0;
	if (!shown)
		return;
	printf("\n  %-40s %5s %6s %9s %6s %5s %4s   %s\n", sort == LEDGER_HOST ? "HOST" : "GPU", "JOBS", "NAMED",
	       "EXPECTED", "late", "last", "bad", "BY CHANCE");
	for (size_t i = 0; i < count; i++)
		if (ledger->entries[sort][i].named_in)
			print_entry(&ledger->entries[sort][i], sort, colour);
}

/* A name that may stand in a command line as it is. */
static bool is_plain(const char *name)
{
	for (const char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr(".-_", *at))
			return false;
	return *name && *name != '-';
}

/* Nothing is drained by itself: lines to paste. */
static void print_drains(const struct ledger *ledger)
{
	bool any = false;

	for (size_t i = 0; i < ledger->counts[LEDGER_HOST]; i++) {
		const struct ledger_entry *entry = &ledger->entries[LEDGER_HOST][i];

		if (!stands_out(entry) || !is_plain(entry->name))
			continue;
		if (!any)
			puts("\nto drain with Slurm:");
		any = true;
		printf("  scontrol update NodeName=%s State=DRAIN Reason=\"rankwatch: named in %u of %u jobs (late %u, "
		       "last %u, bad %u)\"\n",
		       entry->name, entry->named_in, entry->jobs, entry->named[LEDGER_LATE], entry->named[LEDGER_LAST],
		       entry->named[LEDGER_BAD]);
	}
}

static void print_text(const struct ledger *ledger)
{
	size_t named = 0, odd = 0;
	char share[JOB_SHARE_TEXT];

	printf("%u job%s, %zu host%s, %zu GPU%s\n", ledger->jobs, ledger->jobs == 1 ? "" : "s",
	       ledger->counts[LEDGER_HOST], ledger->counts[LEDGER_HOST] == 1 ? "" : "s", ledger->counts[LEDGER_GPU],
	       ledger->counts[LEDGER_GPU] == 1 ? "" : "s");
	printf("%s, from their black boxes (level " JOB_SHARE_LEVEL ")\n",
	       job_share_text(share, ledger->ranks, ledger->ranks_total));
	for (int sort = 0; sort < LEDGER_SORTS; sort++)
		for (size_t i = 0; i < ledger->counts[sort]; i++) {
			named += ledger->entries[sort][i].named_in > 0;
			odd += stands_out(&ledger->entries[sort][i]);
		}
	for (int sort = 0; sort < LEDGER_SORTS; sort++)
		print_sort(ledger, (enum ledger_sort)sort);
	puts(odd	 ? "\n* more often than by lot: less than 1 % for any of them"
	     : named ? "\nnobody was named oftener than lots would explain"
		     : "\nnobody was named");
	print_drains(ledger);
}

static json_t *entries_json(const struct ledger *ledger, enum ledger_sort sort)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ledger->counts[sort]; i++) {
		const struct ledger_entry *entry = &ledger->entries[sort][i];
		char *name = foreign_text(entry->name), *host = foreign_text(entry->host);

		json_array_append_new(list, json_pack("{s:s?, s:s?, s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:b}", "name",
						      name, "host", host, "jobs", (int)entry->jobs, "named",
						      (int)entry->named_in, "late", (int)entry->named[LEDGER_LATE],
						      "last", (int)entry->named[LEDGER_LAST], "bad",
						      (int)entry->named[LEDGER_BAD], "expected", entry->expected,
						      "chance", entry->chance, "stands_out", stands_out(entry)));
		free(name);
		free(host);
	}
	return list;
}

static void print_json(const struct ledger *ledger)
{
	json_t *value = json_pack(
	    "{s:i, s:I, s:o, s:s, s:o, s:o}", "jobs", (int)ledger->jobs, "ranks", (json_int_t)ledger->ranks,
	    "ranks_total", ledger->ranks_total > 0 ? json_integer(ledger->ranks_total) : json_null(), "level",
	    JOB_SHARE_LEVEL, "hosts", entries_json(ledger, LEDGER_HOST), "gpus", entries_json(ledger, LEDGER_GPU));

	if (value && json_dumpf(value, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)) == 0)
		putchar('\n');
	json_decref(value);
}

static int add_run(struct ledger *ledger, struct boxes *boxes, size_t run, bool *truncated)
{
	struct replay replay;
	struct progress progress = { 0 };
	size_t first, count = box_runs_entries(boxes, run, &first);
	snprintf(progress.before, sizeof(progress.before), "run %zu of %zu: ", run + 1, boxes->run_count);
	int err = replay_open(&replay, &boxes->entries[first], count, NULL, NULL, &progress);

	if (!err)
		err = ledger_add(ledger, &replay);
	for (size_t i = 0; i < replay.count; i++) {
		int broken = feed_error(replay.processes[i].feed);

		if (!broken)
			continue;
		*truncated = true;
		foreign_line(stderr, "rankwatch hosts: %s: could not be read to its end: %s", replay.processes[i].path,
			     strerror(-broken));
	}
	replay_close(&replay);
	return err;
}

static int add_runs(struct ledger *ledger, struct boxes *boxes)
{
	bool truncated = false;
	int err = 0;

	for (size_t run = 0; run < boxes->run_count && !err; run++)
		err = add_run(ledger, boxes, run, &truncated);
	if (!err)
		err = ledger_judge(ledger);
	if (err)
		fprintf(stderr, "rankwatch hosts: %s\n", strerror(-err));
	return err ? COMMAND_FAILED : truncated || boxes->refused ? COMMAND_INCOMPLETE : COMMAND_DONE;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };
	struct ledger ledger = { 0 };
	struct boxes boxes;
	int status = COMMAND_FAILED;

	command_parse(command, argc, argv, 0, &options);
	options.choice.all = true;
	if (box_choice_open(&options.choice, argv[0], &boxes) == 0)
		status = add_runs(&ledger, &boxes);
	if (status != COMMAND_FAILED && options.json)
		print_json(&ledger);
	else if (status != COMMAND_FAILED)
		print_text(&ledger);
	ledger_free(&ledger);
	boxes_close(&boxes);
	return status;
}

static const struct argp_option hosts_options[] = {
	{ "json", 'J', NULL, 0, "One JSON object: docs/hosts.md", 0 },
	{ 0 },
};

static const struct argp_child hosts_children[] = { { .argp = &box_choice_every_argp }, { 0 } };

static const struct argp hosts_argp = {
	.options = hosts_options,
	.parser = parse,
	.children = hosts_children,
	.doc = "A ledger across jobs: which host and which GPU was late, last or brought bad values in how many of the "
	       "jobs in which it took "
	       "part, and how likely that is if each job had named its hosts by lot. Reads the black boxes of every "
	       "run that it is pointed at; "
	       "those who stand out come with a line for Slurm to drain them. Nothing is drained by itself.\v"
	       "Without a name: all runs of this user on this machine. The more jobs, the more it can show.\n\n"
	       "Examples:\n"
	       "  rankwatch hosts /shared/boxes/*\n"
	       "  rankwatch hosts --json /shared/boxes/* | jq '.hosts[] | select(.stands_out).name'\n",
};

const struct command hosts_command = {
	.name = "hosts",
	.summary = "say which host or GPU is named in more jobs than chance explains",
	.argp = &hosts_argp,
	.run = run,
};
