/* SPDX-License-Identifier: MIT */
/* The helper itself: answers clients, and hands each the records of the processes that it watches. One thread. */
#ifndef HELPER_SERVER_H
#define HELPER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "helper/outbox.h"
#include "helper/user.h"
#include "helper/watches.h"

enum { SERVER_CLIENTS = 256, SERVER_TICK_MS = 50, SERVER_WHY = 256 };

struct client {
	int fd;
	uid_t uid;
	struct user *user; /* NULL: it has not said hello */
	struct outbox outbox;
	bool gone; /* to be removed in this round */
};

struct server {
	struct probes *probes; /* NULL: see why */
	char why[SERVER_WHY];
	struct users users;
	struct watches watches;
	struct client *clients[SERVER_CLIENTS];
	size_t client_count;
	struct client *asker; /* who looks at `looked` just now */
	pid_t looked;
	struct probes_loss loss;
	uint64_t loss_ns, tick_ns, release_ns;
	bool held; /* the programs stay attached for a while after the last process */
};

/* Of probes_open_shared(); argument: the server. */
void server_record(void *argument, const struct rw_kernel_wait *wait);
/* NULL: no room; the socket is closed then. */
struct client *server_let_in(struct server *server, int fd, uid_t uid);
/* One packet of a client's. fd: the descriptor that came with it, -1: none; the server's from here on. */
void server_take(struct server *server, struct client *client, const void *packet, size_t size, int fd);
/* What is due at now_ns (CLOCK_MONOTONIC): the ring is read, clients get what waits for them, those who have gone
 * leave. */
void server_tick(struct server *server, uint64_t now_ns);
/* Until the gate ends. Returns 0 or -errno. */
int server_run(struct server *server, int gate);
void server_close(struct server *server);

#endif
