/* SPDX-License-Identifier: MIT */
/* A model that follows a collector, and waits for the next when it has gone. */
#ifndef CONSOLE_TOP_LIVE_H
#define CONSOLE_TOP_LIVE_H

#include <stdbool.h>

#include "console/client/collector_client.h"
#include "console/top/model.h"

struct live {
	struct collector_client client;
	struct model *model;
	bool falls_back; /* to the collector of all nodes, where no other is found */
	bool asks_all_nodes; /* is connected to it, or was last */
	char job[256]; /* that is followed; "" whichever is found first */
	double tried_ms, asked_ms; /* Unix; asked: for the rank's detail */
	int every_ms;
};

/* job: NULL whichever runs. all_nodes: that which hears all nodes; else a node's, and that one where there is none. 0,
 * or what collector_client_open() says; the live is of use in both cases. */
int live_open(struct live *live, struct model *model, const char *job, bool all_nodes, int every_ms);
void live_close(struct live *live);
/* Reads what has come; -1 where nothing is connected. */
int live_descriptor(const struct live *live);
/* 0, or why the connection has ended, as collector_client_read() says. */
int live_read(struct live *live, double now_ms);
/* Connects again where it has gone; asks for this rank's detail once a second (-1: none). */
void live_tick(struct live *live, double now_ms, int32_t rank);

#endif
