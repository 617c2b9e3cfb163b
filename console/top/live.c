/* SPDX-License-Identifier: MIT */
#include "console/top/live.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { AGAIN_MS = 500, DETAIL_MS = 1000 };

static void subscribe(struct live *live)
{
	char line[160];

	snprintf(line, sizeof(line),
		 "{\"id\":1,\"subscribe\":[\"ranks\",\"communicators\",\"gpus\",\"findings\",\"cells\",\"hosts\"],"
		 "\"every_ms\":%d}",
		 live->every_ms);
	collector_client_send(&live->client, line);
}

static void on_message(void *argument, const json_t *message)
{
	struct live *live = argument;
	const char *job = json_string_value(json_object_get(json_object_get(message, "hello"), "job"));

	model_take(live->model, message, clock_unix_ms());
	if (!job)
		return;
	snprintf(live->job, sizeof(live->job), "%s", job);
	subscribe(live);
}

static int connect_to(struct live *live, enum collector_client_where where)
{
	live->asks_all_nodes = where == COLLECTOR_CLIENT_ALL_NODES;
	return collector_client_open(&live->client, *live->job ? live->job : NULL, where, on_message, live);
}

/* Once one has spoken, the next is to be of its kind. */
static int connect_again(struct live *live)
{
	bool known = live->model->greeted;
	int err = connect_to(live, !live->falls_back || (known && live->model->all_nodes) ? COLLECTOR_CLIENT_ALL_NODES
											  : COLLECTOR_CLIENT_ANYWHERE);

	if (err && live->falls_back && !known) {
		int second = connect_to(live, COLLECTOR_CLIENT_ALL_NODES);
		err = second ? err : 0;
	}
	return err;
}

int live_open(struct live *live, struct model *model, const char *job, bool all_nodes, int every_ms)
{
	*live = (struct live){
		.falls_back = !all_nodes, .model = model, .every_ms = every_ms, .tried_ms = clock_unix_ms()
	};
	snprintf(live->job, sizeof(live->job), "%s", job ? job : "");
	return connect_again(live);
}

void live_close(struct live *live)
{
	collector_client_close(&live->client);
}

int live_descriptor(const struct live *live)
{
	return live->client.fd;
}

int live_read(struct live *live, double now_ms)
{
	int err = live->client.fd >= 0 ? collector_client_read(&live->client) : 0;

	/* Who accepted may be a collector that was just killed, or, at the address that jobs share, one of another job.
	 */
	if (err && live->falls_back && !live->asks_all_nodes && !live->model->greeted)
		err = connect_to(live, COLLECTOR_CLIENT_ALL_NODES) ? err : 0;
	if (err)
		model_lose(live->model, now_ms);
	return err;
}

static void ask_rank(struct live *live, double now_ms, int32_t rank)
{
	char line[64];

	if (live->model->detail_rank == rank && live->model->detail && now_ms - live->asked_ms < DETAIL_MS)
		return;
	if (now_ms - live->asked_ms < DETAIL_MS / 5)
		return;
	live->asked_ms = now_ms;
	snprintf(line, sizeof(line), "{\"id\":2,\"get\":{\"rank\":%d}}", (int)rank);
	collector_client_send(&live->client, line);
}

void live_tick(struct live *live, double now_ms, int32_t rank)
{
	if (live->client.fd < 0 && now_ms - live->tried_ms >= AGAIN_MS) {
		live->tried_ms = now_ms;
		connect_again(live);
	}
	if (live->client.fd >= 0 && live->client.greeted && rank >= 0)
		ask_rank(live, now_ms, rank);
}
