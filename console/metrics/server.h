/* SPDX-License-Identifier: MIT */
/* Metrics over HTTP, by libmicrohttpd. */
#ifndef CONSOLE_METRICS_SERVER_H
#define CONSOLE_METRICS_SERVER_H

#include <stddef.h>

#include "console/metrics/scrape.h"

struct server;

/* ADDRESS:PORT, :PORT (every address of this machine) or PORT (this machine alone: 127.0.0.1). */
struct server_address {
	char host[64]; /* numeric, IPv4 or IPv6 without its brackets */
	char port[8];
};

/* 0 or -EINVAL. */
int server_address_parse(const char *text, struct server_address *address);

/* Answers GET and HEAD of /metrics, one after the other, on a thread of its own. choice: what is answered; its text
 * must outlive the server. NULL where it cannot listen there; `why` says why. */
struct server *server_open(const struct server_address *address, const struct scrape_choice *choice, char *why,
			   size_t why_size);
void server_close(struct server *server);

#endif
