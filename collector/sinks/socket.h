/* SPDX-License-Identifier: MIT */
/*
 * The collector's socket: a hello, every open finding, then changes, as JSON lines. Peers of another user are turned
 * away, one that does not read is dropped: nobody can make the collector wait.
 */
#ifndef COLLECTOR_SINKS_SOCKET_H
#define COLLECTOR_SINKS_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "protocol/address.h"
#include "protocol/request.h"

struct socket_sink;
struct socket_client;

struct socket_events {
	/* Somebody has come: send the hello and what is open. */
	void (*came)(void *argument, struct socket_client *client);
	/* A request that is neither join nor leave; NULL: there are none. */
	void (*asked)(void *argument, struct socket_client *client, const struct request *request);
	void *argument;
};

/* What a client wants to hear again and again; the socket only keeps it. All 0: nothing. */
struct socket_subscription {
	unsigned topics, every_ms;
	uint64_t due_ns;  /* when the next is due */
	uint64_t changes; /* of the cells, when the last was made */
};

/* Listens at address->shared, or at address->own when another collector has that one; where both are one path that
 * another has: -EADDRINUSE. 0 or -errno; `why` (160 bytes) names the path. */
int socket_open(struct socket_sink **sink, uv_loop_t *loop, const struct address *address,
		const struct socket_events *events, char *why);
/* Lets nobody else in: who comes from now on finds no collector, and starts one. Who is in stays. */
void socket_stop_listening(struct socket_sink *sink);
/* The loop must run once more after this. Accepts NULL. */
void socket_close(struct socket_sink *sink);

const char *socket_path(const struct socket_sink *sink);
void socket_send(struct socket_client *client, const char *line);
struct socket_subscription *socket_subscription(struct socket_client *client);
/* Has everything that was sent to it left this process? */
bool socket_is_drained(const struct socket_client *client);
/* The visitor may send; a client that is dropped by it is not visited again. */
void socket_each(struct socket_sink *sink, void (*visit)(void *argument, struct socket_client *client), void *argument);
void socket_send_all(struct socket_sink *sink, const char *line);
/* To all that are no launchers. */
void socket_send_listeners(struct socket_sink *sink, const char *line);
/* To the launcher that came first. Returns whether there is one. */
bool socket_send_launcher(struct socket_sink *sink, const char *line);
/* Tells launchers whether the text about findings is another's to print, when they have joined and where that has
 * changed: the first one prints it. */
void socket_mute_others(struct socket_sink *sink);
unsigned socket_clients(const struct socket_sink *sink);
/* Launchers that have joined and not left, and those that have left and wait for the summary. */
unsigned socket_runs(const struct socket_sink *sink);
unsigned socket_leaving(const struct socket_sink *sink);
/* Answers all that wait: one of them with `last` when no launcher is left, the others with `line`. Who only listens
 * hears `last`, too. */
void socket_answer_leaving(struct socket_sink *sink, const char *line, const char *last);
/* We end before they leave: `last` to the launcher that came first, `line` to the others. */
void socket_report_end(struct socket_sink *sink, const char *line, const char *last);

#endif
