/* SPDX-License-Identifier: MIT */
#include "console/client/collectors.h"

#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "console/client/collector_client.h"
#include "protocol/address.h"
#include "protocol/message.h"

/* One that was asked. */
struct asked {
	struct collector_client client;
	struct collector_answer answer;
	bool wants_snapshot;
	pid_t pid;
};

static void on_message(void *argument, const json_t *message)
{
	struct asked *asked = argument;
	json_t *hello = json_object_get(message, "hello"), *snapshot = json_object_get(message, "snapshot");

	if (hello && !asked->answer.hello)
		asked->answer.hello = json_deep_copy(hello);
	else if (snapshot && !asked->answer.snapshot)
		asked->answer.snapshot = json_incref(snapshot);
	else if (json_object_get(message, "kind") && !asked->answer.snapshot)
		json_array_append(asked->answer.findings, (json_t *)message);
}

static bool is_answered(const struct asked *asked)
{
	return asked->wants_snapshot ? asked->answer.snapshot != NULL : asked->answer.hello != NULL;
}

/* The first collector of a user has one path, further ones have their job's beside it. */
static const char *nodes_pattern(void)
{
	return geteuid() ? "rankwatch*.sock" : "*socket";
}

static const char *all_nodes_pattern(void)
{
	return geteuid() ? "rankwatch-*.all-nodes" : "*.all-nodes";
}

static int find_sockets(const char *name, glob_t *found)
{
	struct address address;
	char pattern[ADDRESS_PATH + 32];
	int err = address_find(&address, getenv("XDG_RUNTIME_DIR"), geteuid(), "");

	if (err)
		return err;
	snprintf(pattern, sizeof(pattern), "%s/%s", address.directory, name);
	return glob(pattern, 0, NULL, found) ? -ENOENT : 0;
}

/* Until all have answered or the time is over. */
static void hear(struct asked *asked, struct pollfd *waits, size_t count, uint64_t end_ms)
{
	size_t open = count;

	for (uint64_t now = clock_monotonic_ms(); open && now < end_ms; now = clock_monotonic_ms()) {
		open = 0;
		for (size_t i = 0; i < count; i++) {
			waits[i] =
			    (struct pollfd){ .fd = is_answered(&asked[i]) ? -1 : asked[i].client.fd, .events = POLLIN };
			open += waits[i].fd >= 0;
		}
		if (!open || poll(waits, count, (int)(end_ms - now)) <= 0)
			continue;
		for (size_t i = 0; i < count; i++)
			if (waits[i].revents)
				collector_client_read(&asked[i].client);
	}
}

/* One that is connected and silent is stopped, or very busy. */
static bool take_answer(struct asked *asked, struct collector_answer *answer)
{
	*answer = asked->answer;
	if (!answer->hello && asked->client.fd >= 0)
		answer->hello = json_pack("{s:i, s:b}", "pid", (int)asked->pid, "silent", 1);
	collector_client_close(&asked->client);
	if (answer->hello)
		return true;
	json_decref(answer->findings);
	return false;
}

static void connect_one(struct asked *asked, const char *path, const char *topics)
{
	char request[160];

	asked->answer.findings = json_array();
	asked->wants_snapshot = topics != NULL;
	if (strlen(path) >= ADDRESS_PATH || collector_client_open_at(&asked->client, path, on_message, asked)) {
		asked->client.fd = -1;
		return;
	}
	asked->pid = collector_client_peer(&asked->client);
	if (!topics)
		return;
	snprintf(request, sizeof(request), "{\"id\":1,\"subscribe\":%s,\"every_ms\":60000}", topics);
	collector_client_send(&asked->client, request);
}

static int ask(char *const *paths, size_t count, const char *topics, unsigned timeout_ms, struct collectors *collectors)
{
	struct asked *asked = calloc(count, sizeof(*asked));
	struct pollfd *waits = calloc(count, sizeof(*waits));
	struct collector_answer *answers = calloc(count, sizeof(*answers));
	int err = asked && waits && answers ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < count; i++)
		connect_one(&asked[i], paths[i], topics);
	if (!err)
		hear(asked, waits, count, clock_monotonic_ms() + timeout_ms);
	for (size_t i = 0; !err && i < count; i++)
		collectors->count += take_answer(&asked[i], &answers[collectors->count]);
	if (err)
		free(answers);
	else
		collectors->answers = answers;
	free(waits);
	free(asked);
	return err;
}

static int find_at(struct collectors *collectors, const char *name, const char *topics, unsigned timeout_ms)
{
	glob_t found;
	int err = 0;

	*collectors = (struct collectors){ 0 };
	if (find_sockets(name, &found))
		return 0;
	if (found.gl_pathc)
		err = ask(found.gl_pathv, found.gl_pathc, topics, timeout_ms, collectors);
	globfree(&found);
	return err;
}

int collectors_find(struct collectors *collectors, const char *topics, unsigned timeout_ms)
{
	return find_at(collectors, nodes_pattern(), topics, timeout_ms);
}

int collectors_find_all_nodes(struct collectors *collectors, const char *topics, unsigned timeout_ms)
{
	return find_at(collectors, all_nodes_pattern(), topics, timeout_ms);
}

const json_t *collectors_of(const struct collectors *collectors, const char *job)
{
	for (size_t i = 0; i < collectors->count; i++)
		if (json_is_string(json_object_get(collectors->answers[i].hello, "job")) &&
		    message_hello_is_of(collectors->answers[i].hello, job))
			return collectors->answers[i].hello;
	return NULL;
}

void collectors_free(struct collectors *collectors)
{
	for (size_t i = 0; i < collectors->count; i++) {
		json_decref(collectors->answers[i].hello);
		json_decref(collectors->answers[i].findings);
		json_decref(collectors->answers[i].snapshot);
	}
	free(collectors->answers);
	*collectors = (struct collectors){ 0 };
}
