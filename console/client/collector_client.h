/* SPDX-License-Identifier: MIT */
/* A command's connection to a collector of this user: JSON lines in both directions, never blocking. */
#ifndef CONSOLE_CLIENT_COLLECTOR_CLIENT_H
#define CONSOLE_CLIENT_COLLECTOR_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include <jansson.h>

#include "protocol/line_buffer.h"

struct collector_client {
	int fd; /* -1: not connected */
	const char *job;
	bool greeted; /* the hello has come, and from a collector of `job` */
	int error;    /* what a line was refused for */
	struct line_buffer input;
	void (*message)(void *argument, const json_t *message); /* hello, findings, summary; not yours to keep */
	void *argument;
};

/* Where to look: the path that the first collector of a user has may be another job's. ALL_NODES_FIRST: who hears all
 * nodes of a job, else as ANYWHERE; ALL_NODES: such a one alone. The other two never find it. */
enum collector_client_where {
	COLLECTOR_CLIENT_ANYWHERE,
	COLLECTOR_CLIENT_OWN_PATH,
	COLLECTOR_CLIENT_ALL_NODES_FIRST,
	COLLECTOR_CLIENT_ALL_NODES,
};

/* Connects to the collector of `job` (NULL: any; must outlive the client). 0, -ENOENT when there is none, or -errno.
 * Whether it is the right one is known when its hello has come. */
int collector_client_open(struct collector_client *client, const char *job, enum collector_client_where where,
			  void (*message)(void *argument, const json_t *message), void *argument);
/* The same, at this path and of any job; the client need not have been initialised. */
int collector_client_open_at(struct collector_client *client, const char *path,
			     void (*message)(void *argument, const json_t *message), void *argument);
/* Passes on what has come. 0 to go on; otherwise the connection is closed: -EPIPE the collector ended, -EXDEV it serves
 * another job, -EPROTO it is none. */
int collector_client_read(struct collector_client *client);
/* `line` without its newline. 0 or -errno. */
int collector_client_send(struct collector_client *client, const char *line);
/* The collector's process, 0 when it cannot be seen from here. */
pid_t collector_client_peer(const struct collector_client *client);
void collector_client_close(struct collector_client *client); /* accepts one that was not connected */

#endif
