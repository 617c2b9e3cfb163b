/* SPDX-License-Identifier: MIT */
#include "console/collectors.h"

#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/address.h"
#include "collector/message.h"
#include "console/collector_client.h"

/* One that was asked. */
struct asked {
	struct collector_client client;
	json_t *hello;
	pid_t pid;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void on_message(void *argument, const json_t *message)
{
	struct asked *asked = argument;
	json_t *hello = json_object_get(message, "hello");

	if (hello && !asked->hello)
		asked->hello = json_deep_copy(hello);
}

/* The first collector of a user has one path, further ones have their job's beside it. */
static int find_sockets(glob_t *found)
{
	struct address address;
	char pattern[ADDRESS_PATH + 32];
	int err = address_find(&address, getenv("XDG_RUNTIME_DIR"), geteuid(), "");

	if (err)
		return err;
	snprintf(pattern, sizeof(pattern), "%s/%s", address.directory, geteuid() ? "rankwatch*.sock" : "*socket");
	return glob(pattern, 0, NULL, found) ? -ENOENT : 0;
}

/* Until all have answered or the time is over. */
static void hear(struct asked *asked, struct pollfd *waits, size_t count, uint64_t end_ms)
{
	size_t open = count;

	for (uint64_t now = now_ms(); open && now < end_ms; now = now_ms()) {
		open = 0;
		for (size_t i = 0; i < count; i++) {
			waits[i] = (struct pollfd){ .fd = asked[i].hello ? -1 : asked[i].client.fd, .events = POLLIN };
			open += waits[i].fd >= 0;
		}
		if (!open || poll(waits, count, (int)(end_ms - now)) <= 0)
			continue;
		for (size_t i = 0; i < count; i++)
			if (waits[i].revents)
				collector_client_read(&asked[i].client);
	}
}

/* Takes the hello. One that is connected and silent is stopped, or very busy. */
static json_t *result_of(struct asked *asked)
{
	json_t *hello = asked->hello;

	if (!hello && asked->client.fd >= 0)
		hello = json_pack("{s:i, s:b}", "pid", (int)asked->pid, "silent", 1);
	collector_client_close(&asked->client);
	return hello;
}

static int ask(char *const *paths, size_t count, unsigned timeout_ms, struct collectors *collectors)
{
	struct asked *asked = calloc(count, sizeof(*asked));
	struct pollfd *waits = calloc(count, sizeof(*waits));
	json_t **hellos = calloc(count, sizeof(json_t *));
	int err = asked && waits && hellos ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < count; i++) {
		if (strlen(paths[i]) >= ADDRESS_PATH ||
		    collector_client_open_at(&asked[i].client, paths[i], on_message, &asked[i]))
			asked[i].client.fd = -1;
		else
			asked[i].pid = collector_client_peer(&asked[i].client);
	}
	if (!err)
		hear(asked, waits, count, now_ms() + timeout_ms);
	for (size_t i = 0; !err && i < count; i++) {
		hellos[collectors->count] = result_of(&asked[i]);
		collectors->count += hellos[collectors->count] != NULL;
	}
	if (err)
		free(hellos);
	else
		collectors->hellos = hellos;
	free(waits);
	free(asked);
	return err;
}

int collectors_find(struct collectors *collectors, unsigned timeout_ms)
{
	glob_t found;
	int err = 0;

	*collectors = (struct collectors){ 0 };
	if (find_sockets(&found))
		return 0;
	if (found.gl_pathc)
		err = ask(found.gl_pathv, found.gl_pathc, timeout_ms, collectors);
	globfree(&found);
	return err;
}

const json_t *collectors_of(const struct collectors *collectors, const char *job)
{
	for (size_t i = 0; i < collectors->count; i++)
		if (json_is_string(json_object_get(collectors->hellos[i], "job")) &&
		    message_hello_is_of(collectors->hellos[i], job))
			return collectors->hellos[i];
	return NULL;
}

void collectors_free(struct collectors *collectors)
{
	for (size_t i = 0; i < collectors->count; i++)
		json_decref(collectors->hellos[i]);
	free(collectors->hellos);
	*collectors = (struct collectors){ 0 };
}
