/* SPDX-License-Identifier: MIT */
#include "collector/outlet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "finding/finding_json.h"
#include "finding/finding_text.h"

enum { OPEN_MS = 500, CLOSE_MS = 1000 };

/* A file system that does not answer is no reason not to watch. */
int outlet_open(struct outlet *outlet, const char *path, bool quiet)
{
	*outlet = (struct outlet){ .quiet = quiet };
	if (!path)
		return 0;
	outlet->lines = line_sink_open(path, "rankwatch collect");
	return outlet->lines ? line_sink_await(outlet->lines, OPEN_MS) : -ENOMEM;
}

void outlet_tick(struct outlet *outlet)
{
	line_sink_tick(outlet->lines);
}

static int64_t realtime_offset_ns(void)
{
	struct timespec realtime, monotonic;

	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	clock_gettime(CLOCK_REALTIME, &realtime);
	return (realtime.tv_sec - monotonic.tv_sec) * INT64_C(1000000000) + realtime.tv_nsec - monotonic.tv_nsec;
}

static void print_text(const char *line)
{
	json_t *finding = json_loads(line, 0, NULL);

	if (finding)
		finding_print(stdout, finding, false);
	fflush(stdout);
	json_decref(finding);
}

static void hand_out(struct outlet *outlet, const struct rw_finding *finding, const char *line)
{
	if (outlet->socket)
		socket_send_all(outlet->socket, line);
	if (board_tell(&outlet->board, finding))
		command_sink_put(outlet->command, line);
	if (finding->severity < RW_WARNING)
		return;
	line_sink_put(outlet->lines, line);
	if (!outlet->quiet && !line_sink_is_stdout(outlet->lines))
		print_text(line);
}

void outlet_put(void *argument, const struct rw_finding *finding)
{
	struct outlet *outlet = argument;
	char *line = finding_to_line(finding, realtime_offset_ns());

	if (!line || board_put(&outlet->board, finding, line)) {
		foreign_line(stderr, "rankwatch collect: no memory for finding %s: %s", finding->id, finding->text);
		free(line);
		return;
	}
	if (!outlet->mute)
		hand_out(outlet, finding, line);
	free(line);
}

void outlet_tell_open(const struct outlet *outlet, struct socket_client *client)
{
	for (size_t i = 0; i < outlet->board.count; i++)
		if (outlet->board.entries[i].line)
			socket_send(client, outlet->board.entries[i].line);
}

void outlet_close(struct outlet *outlet)
{
	board_free(&outlet->board);
	line_sink_close(outlet->lines, CLOSE_MS);
	outlet->lines = NULL;
}
