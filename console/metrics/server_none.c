/* SPDX-License-Identifier: MIT */
/* Of a build without libmicrohttpd: `rankwatch metrics --once` works all the same. */
#include "console/metrics/server.h"

#include <stdio.h>

int server_address_parse(const char *text, struct server_address *address)
{
	(void)text, (void)address;
	return 0;
}

struct server *server_open(const struct server_address *address, const struct scrape_choice *choice, char *why,
			   size_t why_size)
{
	(void)address, (void)choice;
	snprintf(why, why_size, "built without libmicrohttpd; --once prints the metrics");
	return NULL;
}

void server_close(struct server *server)
{
	(void)server;
}
