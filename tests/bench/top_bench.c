/* SPDX-License-Identifier: MIT */
/*
 * How often a second the console can take a snapshot of a large job, and draw one on a terminal through ncurses, all
 * its numbers changed each time: top_bench [--least N] [--seconds N] [RANKS [STEPS]]. It makes its own terminal. With
 * --least the exit status is 1 where any view is drawn less often than N times in a second of one core.
 */
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "console/top/canvas.h"
#include "console/top/model.h"
#include "console/top/screen.h"
#include "console/top/view.h"

enum { WIDTH = 200, HEIGHT = 60, GPUS = 8 };

struct bench {
	FILE *out; /* what standard output was before the terminal took its place */
	double least, seconds;
	int ranks, steps, too_few;
	struct model models[2]; /* drawn by turns: what they have of the ranks' times differs everywhere */
	pid_t reader;
};

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* whatever else the machine does */
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static json_t *rank_json(int rank, int turn)
{
	char host[24];

	snprintf(host, sizeof(host), "node%04d", rank / GPUS);
	return json_pack("{s:i, s:s, s:i, s:s, s:s, s:f, s:{s:s, s:s, s:i}, s:f, s:f, s:f}", "rank", rank, "host", host,
			 "pid", 4000 + rank, "life", "alive", "doing", rank % 9 ? "waits" : "works", "since_unix_ms",
			 1e12, "operation", "comm_name", "~fsdp", "function", "AllGather", "sequence", 118, "own_ms",
			 1000.0 + 500 * turn + rank % 7, "wait_ms", 300.0 + 400 * turn, "lost_ms",
			 rank == 4711 ? 1e6 : 1.0 + (rank * 7 + turn) % 100);
}

static json_t *column_json(int ranks, int step, int turn)
{
	json_t *own = json_array(), *wait = json_array(), *lost = json_array();

	for (int i = 0; i < ranks; i++) {
		json_array_append_new(own, json_real(700 + 100 * turn + (i * 31 + step * 17) % 13));
		json_array_append_new(wait, json_real(i == 4711 ? 0 : 300));
		json_array_append_new(lost, json_real(i == 4711 ? 300.0 * (ranks - 1) : (i * step + turn) % 5));
	}
	return json_pack("{s:i, s:i, s:f, s:f, s:o, s:o, s:o}", "step", step, "last_step", step, "from_unix_ms", step * 1000.0,
			 "until_unix_ms", step * 1000.0 + 999, "own_ms", own, "wait_ms", wait, "lost_ms", lost);
}

static json_t *snapshot(int ranks, int first, int last, int turn)
{
	json_t *rows = json_array(), *numbers = json_array(), *columns = json_array();

	for (int i = 0; i < ranks; i++) {
		json_array_append_new(rows, rank_json(i, turn));
		json_array_append_new(numbers, json_integer(i));
	}
	for (int step = first; step <= last; step++)
		json_array_append_new(columns, column_json(ranks, step, turn));
	return json_pack("{s:{s:f, s:o, s:{s:o, s:o}}}", "snapshot", "unix_ms", 1e12 + 5000, "ranks", rows, "cells",
			 "ranks", numbers, "columns", columns);
}

static void bench_take(struct bench *bench)
{
	json_t *message = snapshot(bench->ranks, bench->steps + 1, bench->steps + 1, 0);
	char *line = json_dumps(message, JSON_COMPACT);
	double begin = now_s();
	int count = 0;

	for (; now_s() - begin < bench->seconds; count++) {
		json_t *parsed = json_loads(line, 0, NULL);

		model_take(&bench->models[0], parsed, 1e12);
		json_decref(parsed);
	}
	fprintf(bench->out, "%d ranks: a snapshot with one new step is taken in %.0f ms of one core\n", bench->ranks,
		(now_s() - begin) / count * 1e3);
	free(line);
	json_decref(message);
}

static void bench_draw(struct bench *bench, enum view_kind kind, const char *name)
{
	struct view view = { .kind = kind, .rank = 4711 };
	struct canvas canvas = { 0 };
	double begin = now_s();
	int count = 0;

	for (; now_s() - begin < bench->seconds; count++) {
		view.cursor = (size_t)count % 40;
		canvas_reset(&canvas, WIDTH, HEIGHT, false);
		view_draw(&bench->models[count % 2], &view, &canvas, 1e12 + 5000 + count * 500);
		screen_show(&canvas);
	}
	double often = count / (now_s() - begin);

	fprintf(bench->out, "%d ranks: %s is drawn %.0f times in a second of one core (%d x %d)%s\n", bench->ranks,
		name, often, WIDTH, HEIGHT, often < bench->least ? ": TOO SELDOM" : "");
	bench->too_few += often < bench->least;
	canvas_free(&canvas);
}

/* A terminal on standard input and output, with another process that reads all of it. */
static bool open_terminal(struct bench *bench)
{
	struct winsize size = { .ws_row = HEIGHT, .ws_col = WIDTH };
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), kept = dup(STDOUT_FILENO);
	int slave = master < 0 || grantpt(master) || unlockpt(master) ? -1 : open(ptsname(master), O_RDWR | O_NOCTTY);
	char bytes[65536];

	bench->out = kept < 0 ? NULL : fdopen(kept, "w");
	if (slave < 0 || !bench->out || ioctl(slave, TIOCSWINSZ, &size))
		return false;
	setlinebuf(bench->out);
	bench->reader = fork();
	if (bench->reader == 0) {
		close(slave);
		while (read(master, bytes, sizeof(bytes)) > 0)
			;
		_exit(0);
	}
	close(master);
	dup2(slave, STDIN_FILENO);
	dup2(slave, STDOUT_FILENO);
	close(slave);
	setenv("TERM", "xterm-256color", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	return bench->reader > 0 && screen_is_utf8() && screen_open(true) == 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: top_bench [--least N] [--seconds N] [RANKS [STEPS]]\n");
	return 2;
}

static bool parse(struct bench *bench, int count, char **arguments)
{
	int *numbers[] = { &bench->ranks, &bench->steps };
	int place = 0;

	for (int i = 1; i < count; i++) {
		bool is_least = !strcmp(arguments[i], "--least");

		if (is_least || !strcmp(arguments[i], "--seconds")) {
			if (++i == count)
				return false;
			*(is_least ? &bench->least : &bench->seconds) = atof(arguments[i]);
		} else if (place == 2 || (*numbers[place++] = atoi(arguments[i])) < 1) {
			return false;
		}
	}
	return bench->seconds > 0;
}

int main(int argc, char **argv)
{
	struct bench bench = { .seconds = 2, .ranks = 16384, .steps = 120 };

	if (!parse(&bench, argc, argv))
		return usage();
	for (int turn = 0; turn < 2; turn++) {
		json_t *message = snapshot(bench.ranks, 1, bench.steps, turn);

		model_take(&bench.models[turn], message, 1e12);
		json_decref(message);
	}
	if (!open_terminal(&bench)) {
		fprintf(stderr, "top_bench: there is no terminal to be had here\n");
		return 2;
	}
	bench_take(&bench);
	bench_draw(&bench, VIEW_OVERVIEW, "the overview");
	bench_draw(&bench, VIEW_RANKS, "the list of ranks");
	bench_draw(&bench, VIEW_RANK, "one rank");
	bench_draw(&bench, VIEW_VALUES, "the values");
	screen_close();
	kill(bench.reader, SIGTERM);
	waitpid(bench.reader, NULL, 0);
	for (int turn = 0; turn < 2; turn++)
		model_free(&bench.models[turn]);
	return bench.too_few != 0;
}
