/* SPDX-License-Identifier: MIT */
#include "collector/outlet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "collector/sinks/jsonl.h"
#include "finding/finding_json.h"
#include "finding/finding_text.h"

int outlet_open(struct outlet *outlet, const char *path, bool quiet)
{
	int fd = path ? jsonl_open(path) : -1;

	*outlet = (struct outlet){ .path = path, .lines_fd = fd, .quiet = quiet };
	if (!path || fd >= 0)
		return 0;
	foreign_line(stderr, "rankwatch collect: %s: %s", path, strerror(-fd));
	outlet->lines_fd = -1;
	return fd;
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

static void append_line(struct outlet *outlet, const char *line)
{
	int err = outlet->lines_fd < 0 ? 0 : jsonl_write(outlet->lines_fd, line);

	if (!err)
		return;
	foreign_line(stderr, "rankwatch collect: %s: %s: no further findings are written there", outlet->path,
		     strerror(-err));
	jsonl_close(outlet->lines_fd);
	outlet->lines_fd = -1;
}

static void hand_out(struct outlet *outlet, const struct rw_finding *finding, const char *line)
{
	if (outlet->socket)
		socket_send_all(outlet->socket, line);
	if (board_tell(&outlet->board, finding))
		command_sink_put(outlet->command, line);
	if (finding->severity < RW_WARNING)
		return;
	append_line(outlet, line);
	if (!outlet->quiet && outlet->lines_fd != STDOUT_FILENO)
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
	jsonl_close(outlet->lines_fd);
}
