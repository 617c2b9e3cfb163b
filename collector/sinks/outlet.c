/* SPDX-License-Identifier: MIT */
#include "collector/sinks/outlet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/foreign_text.h"
#include "collector/nats/finding_head.h"
#include "finding/finding_json.h"

enum { OPEN_MS = 500, CLOSE_MS = 1000 };

/* A file system that does not answer is no reason not to watch. */
int outlet_open(struct outlet *outlet, const char *path, bool quiet)
{
	*outlet = (struct outlet){ .announcer = { .style = { .clock = true } } };
	if (path)
		outlet->lines = line_sink_open(path, "rankwatch collect");
	if (!quiet && !line_sink_is_stdout(outlet->lines))
		outlet->announcer.text = stdout;
	if (!path)
		return 0;
	return outlet->lines ? line_sink_await(outlet->lines, OPEN_MS) : -ENOMEM;
}

void outlet_tick(struct outlet *outlet)
{
	line_sink_tick(outlet->lines);
	announcer_tick(&outlet->announcer, clock_monotonic_ns());
	if (outlet->announcer.text)
		fflush(outlet->announcer.text);
}

static void write_down(struct outlet *outlet, const json_t *finding)
{
	char *line = outlet->lines ? written_line(&outlet->written, finding) : NULL;

	if (line)
		line_sink_put(outlet->lines, line);
	free(line);
}

static void announce(struct outlet *outlet, const char *line)
{
	json_t *finding = outlet->announcer.text || outlet->lines ? json_loads(line, 0, NULL) : NULL;

	if (finding)
		write_down(outlet, finding);
	if (finding && outlet->announcer.text)
		announcer_take(&outlet->announcer, finding, clock_monotonic_ns());
	json_decref(finding);
}

static void hand_out(struct outlet *outlet, const struct rw_finding *finding, const char *line, bool known)
{
	/* Before anybody hears of it: whoever does may end us at once. */
	evidence_sink_put(outlet->evidence, line);
	evidence_sink_tick(outlet->evidence, outlet->directory, clock_monotonic_ns());
	if (outlet->socket)
		socket_send_all(outlet->socket, line);
	publisher_finding(outlet->publisher, line);
	if (board_report(&outlet->board, finding) && !known)
		command_sink_put(outlet->command, line);
	announce(outlet, line); /* a notice may have been more before: its end is reported */
}

/* Takes the line. */
static void put_line(struct outlet *outlet, const struct rw_finding *finding, char *line, bool known)
{
	if (!line || board_put(&outlet->board, finding, line)) {
		foreign_line(stderr, "rankwatch collect: no memory for finding %s", finding->id);
		free(line);
		return;
	}
	if (!outlet->mute)
		hand_out(outlet, finding, line, known);
	free(line);
}

void outlet_put(void *argument, const struct rw_finding *finding)
{
	put_line(argument, finding, finding_to_line(finding, clock_realtime_offset_ns()), false);
}

static void put_json(struct outlet *outlet, const json_t *finding, bool known)
{
	char why[FINDING_HEAD_WHY];
	struct rw_finding head;

	if (finding_head_read(finding, &head, why) == 0)
		put_line(outlet, &head, json_dumps(finding, JSON_COMPACT | JSON_REAL_PRECISION(12)), known);
}

void outlet_put_json(void *argument, const json_t *finding)
{
	put_json(argument, finding, false);
}

void outlet_put_known(void *argument, const json_t *finding)
{
	put_json(argument, finding, true);
}

void outlet_report_open(const struct outlet *outlet, struct socket_client *client)
{
	for (size_t i = 0; i < outlet->board.count; i++)
		if (outlet->board.entries[i].line)
			socket_send(client, outlet->board.entries[i].line);
}

void outlet_close(struct outlet *outlet)
{
	announcer_finish(&outlet->announcer);
	board_free(&outlet->board);
	written_free(&outlet->written);
	line_sink_close(outlet->lines, CLOSE_MS);
	outlet->lines = NULL;
}
