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
#include "console/boxes/box_choice.h"
#include "console/boxes/box_runs.h"
#include "console/cli/command.h"
#include "console/cli/option.h"
#include "console/cli/terminal.h"
#include "console/client/collectors.h"
#include "console/top/dead.h"
#include "console/top/live.h"
#include "console/top/screen.h"
#include "console/top/view.h"

enum { KEY_ASCII = 0x100, KEY_ONCE, KEY_ALL_NODES, EVERY_MS = 500, ANSWER_MS = 3000, OTHERS_MS = 200, FRAME_MS = 250,
	ONCE_ROWS = 40, ONCE_ROWS_MOST = 20000 };

struct options {
	struct box_choice choice;
	bool once, json, ascii, all_nodes;
};

struct top {
	struct options options;
	struct model model;
	struct view view;
	struct canvas canvas;
	struct live live;
	struct dead dead;
	bool is_dead;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ ARGP_KEY_INIT, .child = &options->choice }, { KEY_ASCII, .flag = &options->ascii },
		{ KEY_ALL_NODES, .flag = &options->all_nodes }, { KEY_ONCE, .flag = &options->once },
		{ 'J', .flag = &options->json }, { 0 },
	};

	return option_take(fields, key, argument, state);
}

static void draw(struct top *top, int width, int height)
{
	if (canvas_reset(&top->canvas, width, height, top->options.ascii))
		view_draw(&top->model, &top->view, &top->canvas, clock_unix_ms());
}

/* The rank whose threads and operations are shown; -1 none. */
static int32_t wanted_rank(const struct top *top)
{
	return top->view.kind == VIEW_RANK && top->view.at_ms <= 0 ? top->view.rank : -1;
}

static void redraw(struct top *top)
{
	int width, height;

	screen_size(&width, &height);
	draw(top, width, height);
	screen_show(&top->canvas);
}

static void take_keys(struct top *top)
{
	for (int key; (key = screen_key()) != -1;)
		if (key > 0)
			view_key(&top->view, &top->model, key);
}

static void refresh(struct top *top, double now_ms)
{
	if (top->is_dead)
		dead_show_rank(&top->dead, &top->model, wanted_rank(top));
	else
		live_tick(&top->live, now_ms, wanted_rank(top));
}

/* Until somebody ends it. What has come is drawn at once, but not more often than a person can see. */
static int watch(struct top *top)
{
	int err = screen_open(terminal_has_colour(STDOUT_FILENO));

	if (err)
		return err;
	while (!top->view.quit && !screen_is_asked_to_end()) {
		struct pollfd waits[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
					   { .fd = top->is_dead ? -1 : live_descriptor(&top->live),
					     .events = POLLIN } };

		refresh(top, clock_unix_ms());
		redraw(top);
		if (poll(waits, 2, FRAME_MS) > 0 && waits[0].revents & (POLLHUP | POLLERR))
			break;
		if (waits[1].revents)
			live_read(&top->live, clock_unix_ms());
		take_keys(top);
	}
	screen_close();
	return 0;
}

static bool is_complete(const struct top *top)
{
	return top->is_dead || (top->model.rank_count && top->model.at_ms > 0) || top->model.gone_ms > 0;
}

/* The first snapshot. */
static int await_snapshot(struct top *top)
{
	double end_ms = clock_unix_ms() + ANSWER_MS;
	int err = 0;

	while (!err && !is_complete(top) && clock_unix_ms() < end_ms) {
		struct pollfd wait = { .fd = live_descriptor(&top->live), .events = POLLIN };

		if (poll(&wait, 1, FRAME_MS) > 0)
			err = live_read(&top->live, clock_unix_ms());
	}
	return err ? err : top->model.greeted ? 0 : -ETIMEDOUT;
}

static int print_once(struct top *top)
{
	int err = top->is_dead ? 0 : await_snapshot(top);
	size_t rows = top->model.rank_count + ONCE_ROWS;
	char *line;

	if (err)
		return err;
	draw(top, isatty(STDOUT_FILENO) ? terminal_width(STDOUT_FILENO) : 120,
	     rows < ONCE_ROWS_MOST ? (int)rows : ONCE_ROWS_MOST);
	size_t size = (size_t)top->canvas.width * 4 + 8;

	line = malloc(size);
	/* The keys at the foot are for terminals. */
	for (int row = 0, blank = 0; line && row < top->canvas.height - 1; row++) {
		if (!*canvas_row_text(&top->canvas, row, line, size)) {
			blank++;
			continue;
		}
		for (; blank; blank--)
			putchar('\n');
		puts(line);
	}
	free(line);
	return 0;
}

static int say_no_collector(const struct options *options, int err)
{
	const char *job = options->choice.job;

	if (err == -ETIMEDOUT || err == -EAGAIN)
		fputs("rankwatch top: the collector does not answer: it may be stopped\n", stderr);
	else
		foreign_line(stderr,
			     "rankwatch top: no collector %s%s%s; \"rankwatch top DIRECTORY\" shows a job that is "
			     "over, from its boxes",
			     options->all_nodes ? "of all nodes " : "", job ? "serves job " : "is running",
			     job ? job : "");
	return COMMAND_FAILED;
}

/* The snapshot as it came, with the findings themselves in place of their names. */
static int print_json(struct top *top)
{
	int err = top->is_dead ? 0 : await_snapshot(top);
	json_t *findings = json_array();

	if (!err && !top->model.snapshot)
		err = -ETIMEDOUT;
	for (size_t i = 0; i < top->model.finding_count; i++)
		json_array_append(findings, top->model.findings[i].json);
	if (!err && json_object_set(top->model.snapshot, "findings", findings) == 0) {
		json_dumpf(top->model.snapshot, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15));
		putchar('\n');
	}
	json_decref(findings);
	return err;
}

static int show(struct top *top)
{
	const char *missing = top->options.once || top->options.json ? NULL : screen_missing();

	if (top->options.json)
		return print_json(top);
	if (top->options.once)
		return print_once(top);
	if (!missing)
		return watch(top);
	fprintf(stderr, "rankwatch top: %s; \"rankwatch top --once\" prints the same rows\n", missing);
	return -ENOTTY;
}

/* Who names no job may have meant another one. */
static void count_jobs(struct top *top)
{
	struct collectors collectors;

	if (top->options.choice.job || top->options.all_nodes)
		return;
	if (collectors_find(&collectors, NULL, OTHERS_MS) == 0)
		top->model.jobs_here = collectors.count;
	collectors_free(&collectors);
	if (top->model.jobs_here > 1 && (top->options.once || top->options.json))
		fprintf(stderr, "rankwatch top: this is one of %zu jobs here; --job NAME chooses (rankwatch ls)\n",
			top->model.jobs_here);
}

static int show_live(struct top *top)
{
	int err = live_open(&top->live, &top->model, top->options.choice.job, top->options.all_nodes, EVERY_MS);

	if (!err) {
		count_jobs(top);
		err = show(top);
	}
	live_close(&top->live);
	return err;
}

static int show_boxes(struct top *top, const char *command)
{
	const struct replay *replay = &top->dead.replay;
	char *name = replay_machine_name(replay, &replay->machines[0]);

	if (top->dead.left_out)
		fprintf(stderr,
			"%s: this is %s only: %zu boxes of other machines are left out, whose clocks cannot be "
			"compared with "
			"these; to see those, name their files\n",
			command, name ? name : "one machine", top->dead.left_out);
	free(name);
	return show(top);
}

static int show_dead(struct top *top, const char *command)
{
	struct boxes boxes;
	size_t runs;
	int err;

	top->options.choice.all = true; /* it says itself that there are more */
	err = box_choice_open(&top->options.choice, command, &boxes);
	runs = boxes.run_count;
	if (!err && runs > 1)
		fprintf(stderr, "%s: this is the newest of %zu runs there; --job NAME, or a file, chooses another\n",
			command, runs);
	top->is_dead = true;
	if (!err) {
		err = dead_open(&top->dead, &top->model, &boxes);
		if (err)
			fprintf(stderr, "%s: %s\n", command, strerror(-err));
		else
			err = show_boxes(top, command);
		dead_close(&top->dead);
	}
	boxes_close(&boxes);
	return err ? COMMAND_FAILED : COMMAND_DONE;
}

static void refuse_nothing(void *argument, const char *path, const char *why)
{
	(void)argument, (void)path, (void)why;
}

/* Has a run of this user, or of the job that was named, left black boxes here? */
static bool is_any_left(const struct options *options)
{
	struct boxes boxes = { 0 };
	bool any = !options->all_nodes && boxes_open(&boxes, NULL, 0, refuse_nothing, NULL) == 0;

	if (any)
		box_runs_keep_job(&boxes, options->choice.job);
	any &= boxes.count > 0;
	boxes_close(&boxes);
	return any;
}

/* A job that is over, where none is watched and nothing else was asked for. */
static int show_any(struct top *top, const char *command)
{
	int err = show_live(top);

	if (!err || err == -ENOTTY)
		return err ? COMMAND_FAILED : COMMAND_DONE;
	if (err == -ETIMEDOUT || err == -EAGAIN || !is_any_left(&top->options))
		return say_no_collector(&top->options, err);
	fprintf(stderr, "%s: no collector is running: this is the newest run that left black boxes here\n", command);
	return show_dead(top, command);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct top top = { .view = { .rank = -1 }, .live = { .client = { .fd = -1 } } };
	int status;

	command_parse(command, argc, argv, 0, &top.options);
	top.options.ascii |= !screen_is_utf8();
	status = top.options.choice.path_count ? show_dead(&top, argv[0]) : show_any(&top, argv[0]);
	canvas_free(&top.canvas);
	model_free(&top.model);
	return status;
}

static const struct argp_option top_options[] = {
	{ "all-nodes", KEY_ALL_NODES, NULL, 0,
	  "Show the whole job as \"rankwatch collect --all-nodes\" hears it, also where a node's collector runs here",
	  0 },
	{ "ascii", KEY_ASCII, NULL, 0, "Draw with ASCII alone", 0 },
	{ "json", 'J', NULL, 0, "Print what is known once, as one JSON object (docs/protocol.md, \"Snapshot\")", 0 },
	{ "once", KEY_ONCE, NULL, 0, "Print the first screen once, all ranks, and end", 0 },
	{ 0 },
};

static const struct argp_child top_children[] = { { .argp = &box_choice_every_argp }, { 0 } };

static const struct argp top_argp = {
	.options = top_options,
	.parser = parse,
	.children = top_children,
	.doc = "Shows a job while it runs: is it healthy, which rank is it, why, and how long is left until the "
	       "framework's watchdog. "
	       "Without a directory it follows a running collector of this user, also when that is started again: a "
	       "node's, or, where none runs, that of all nodes; with one, or with "
	       "files, it shows a job that is over, from its black boxes. The arrow keys go back in time; ? lists the "
	       "other keys.\v"
	       "Colours are left out where NO_COLOR is set.\n\n"
	       "Examples:\n"
	       "  rankwatch top\n"
	       "  rankwatch top --once\n"
	       "  rankwatch top --all-nodes --job slurm-81123\n"
	       "  rankwatch top /shared/boxes/slurm-81123\n"
	       "  rankwatch top --json | jq '.ranks[] | select(.doing == \"missing\").rank'\n",
};

const struct command top_command = {
	.name = "top",
	.summary = "watch a job live, or look back at one that is over",
	.argp = &top_argp,
	.run = run,
};
