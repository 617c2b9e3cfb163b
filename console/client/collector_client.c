/* SPDX-License-Identifier: MIT */
#include "console/client/collector_client.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unix_connect.h"
#include "protocol/address.h"
#include "protocol/message.h"

enum { LONGEST_LINE = 64 << 20 /* a whole job's cells come in one */ };

/* Somebody else may have put a socket at a path in /tmp: only a peer of our user, or root, is believed. */
static int connect_to(const char *path)
{
	return unix_connect(path, SOCK_STREAM);
}

/* -ENOENT: nobody answers at any of them. */
static int connect_to_pattern(const struct address *address, const char *name)
{
	char pattern[ADDRESS_PATH + 32];
	int fd = -ENOENT;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/%s", address->directory, name);
	if (glob(pattern, GLOB_NOSORT, NULL, &found))
		return fd;
	for (size_t i = 0; fd < 0 && i < found.gl_pathc; i++)
		fd = connect_to(found.gl_pathv[i]);
	globfree(&found);
	return fd;
}

/* Without a job: whichever of this user's collectors answers, those with a socket of their own included. */
static int connect_to_any(const struct address *address)
{
	int fd = connect_to(address->shared);

	return fd >= 0 ? fd : connect_to_pattern(address, geteuid() ? "rankwatch-*.sock" : "*.socket");
}

static int connect_to_all_nodes(const struct address *address, const char *job)
{
	if (!job)
		return connect_to_pattern(address, "*.all-nodes");
	return *address->all_nodes ? connect_to(address->all_nodes) : -ENOENT;
}

/* Of a node. */
static int connect_to_node(const struct address *address, const char *job, enum collector_client_where where)
{
	int fd = job ? connect_to(address->own) : connect_to_any(address);

	return fd < 0 && job && where != COLLECTOR_CLIENT_OWN_PATH ? connect_to(address->shared) : fd;
}

int collector_client_open(struct collector_client *client, const char *job, enum collector_client_where where,
			  void (*message)(void *argument, const json_t *message), void *argument)
{
	struct address address;
	int err = address_find(&address, getenv("XDG_RUNTIME_DIR"), geteuid(), job ? job : "local");

	*client = (struct collector_client){
		.fd = -1, .job = job, .message = message, .argument = argument, .input = { .limit = LONGEST_LINE }
	};
	if (err)
		return err;
	client->fd = -ENOENT;
	if (where == COLLECTOR_CLIENT_ALL_NODES || where == COLLECTOR_CLIENT_ALL_NODES_FIRST)
		client->fd = connect_to_all_nodes(&address, job);
	if (client->fd < 0 && where != COLLECTOR_CLIENT_ALL_NODES)
		client->fd = connect_to_node(&address, job, where);
	return client->fd < 0 ? client->fd : 0;
}

int collector_client_open_at(struct collector_client *client, const char *path,
			     void (*message)(void *argument, const json_t *message), void *argument)
{
	*client = (struct collector_client){
		.fd = connect_to(path), .message = message, .argument = argument, .input = { .limit = LONGEST_LINE }
	};
	return client->fd < 0 ? client->fd : 0;
}

static int check_hello(const struct collector_client *client, const json_t *message)
{
	const json_t *hello = json_object_get(message, "hello");

	if (!json_is_string(json_object_get(hello, "job")))
		return -EPROTO;
	return !client->job || message_hello_is_of(hello, client->job) ? 0 : -EXDEV;
}

static void on_line(void *argument, char *line, size_t length)
{
	struct collector_client *client = argument;
	json_t *message = client->error ? NULL : json_loadb(line, length, 0, NULL);

	if (!json_is_object(message))
		client->error = client->error ? client->error : -EPROTO;
	else if (!client->greeted)
		client->error = check_hello(client, message);
	if (!client->error) {
		client->greeted = true;
		client->message(client->argument, message);
	}
	json_decref(message);
}

static int receive(struct collector_client *client)
{
	char chunk[16384];
	ssize_t count = recv(client->fd, chunk, sizeof(chunk), 0);

	if (count < 0)
		return errno == EINTR ? 0 : -errno;
	return count ? line_buffer_add(&client->input, chunk, (size_t)count, on_line, client) : -EPIPE;
}

int collector_client_read(struct collector_client *client)
{
	int err = 0;

	while (!err && !client->error)
		err = receive(client);
	if (client->error)
		err = client->error;
	else if (err == -EAGAIN)
		return 0;
	collector_client_close(client);
	return err;
}

int collector_client_send(struct collector_client *client, const char *line)
{
	char text[256];
	int length = snprintf(text, sizeof(text), "%s\n", line);

	return send(client->fd, text, (size_t)length, MSG_NOSIGNAL) == length ? 0 : -errno;
}

pid_t collector_client_peer(const struct collector_client *client)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ? 0 : peer.pid;
}

void collector_client_close(struct collector_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	client->greeted = false;
	client->error = 0;
	line_buffer_free(&client->input);
}
