/* SPDX-License-Identifier: MIT */
#include "console/trials/demo_witness.h"

void demo_witness_open(struct demo_witness *witness)
{
	*witness = (struct demo_witness){ .client = { .fd = -1 } };
}

void demo_witness_hear(struct demo_witness *witness, const json_t *message)
{
	const json_t *summary = json_object_get(message, "summary");
	const json_t *total = json_object_get(summary, "ranks_total");

	if (json_is_integer(total))
		witness->saw_all =
		    json_integer_value(json_object_get(summary, "ranks_seen")) == json_integer_value(total);
}

static void on_message(void *argument, const json_t *message)
{
	demo_witness_hear(argument, message);
}

void demo_witness_listen(struct demo_witness *witness, const char *job)
{
	struct collector_client *client = &witness->client;

	if (client->fd < 0)
		collector_client_open(client, job, COLLECTOR_CLIENT_ANYWHERE, on_message, witness);
	if (client->fd >= 0)
		collector_client_read(client);
	/* A collector does not end before those who listen have gone. */
	if (witness->saw_all)
		collector_client_close(client);
}

void demo_witness_close(struct demo_witness *witness)
{
	collector_client_close(&witness->client);
}
