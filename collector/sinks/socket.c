/* SPDX-License-Identifier: MIT */
#include "collector/sinks/socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/line_buffer.h"
#include "protocol/runtime_directory.h"

enum { MOST_CLIENTS = 256, MOST_QUEUED = 1 << 20, WHY = 160 };

struct socket_client {
	uv_pipe_t pipe; /* first: freed through its handle */
	struct socket_sink *sink;
	struct socket_client *next;
	struct line_buffer input;
	bool is_run, is_leaving, closing, is_muted, knows_place;
	struct socket_subscription subscription;
	size_t first; /* length of the line that was sent when nothing else waited */
	char chunk[REQUEST_LINE];
};

struct socket_sink {
	uv_pipe_t pipe; /* first: freed through its handle */
	struct socket_events events;
	struct socket_client *clients;
	unsigned client_count;
	char path[ADDRESS_PATH];
	bool unwanted; /* to be freed with its handle */
};

struct message {
	uv_write_t request; /* first: freed through it */
	char text[];
};

static void free_client(uv_handle_t *handle)
{
	struct socket_client *client = (struct socket_client *)handle;

	line_buffer_free(&client->input);
	free(client);
}

static void drop(struct socket_client *client)
{
	struct socket_sink *sink = client->sink;

	if (client->closing)
		return;
	client->closing = true;
	for (struct socket_client **at = &sink->clients; *at; at = &(*at)->next) {
		if (*at != client)
			continue;
		*at = client->next;
		sink->client_count--;
		break;
	}
	uv_close((uv_handle_t *)&client->pipe, free_client);
}

static void on_sent(uv_write_t *request, int status)
{
	struct socket_client *client = (struct socket_client *)request->handle;

	if (status < 0 && status != UV_ECANCELED)
		drop(client);
	free(request);
}

void socket_send(struct socket_client *client, const char *line)
{
	size_t length = strlen(line);
	struct message *message;

	if (client->closing)
		return;
	size_t queued = uv_stream_get_write_queue_size((uv_stream_t *)&client->pipe);

	/* One long line, as a snapshot is, is no sign of a client that does not read, nor is what comes while it is
	 * read. */
	if (!queued)
		client->first = length;
	else if (queued + length > MOST_QUEUED + client->first) {
		drop(client);
		return;
	}
	message = malloc(sizeof(*message) + length + 1);
	if (!message) {
		drop(client);
		return;
	}
	memcpy(message->text, line, length);
	message->text[length] = '\n';

	uv_buf_t buffer = uv_buf_init(message->text, (unsigned)length + 1);

	if (uv_write(&message->request, (uv_stream_t *)&client->pipe, &buffer, 1, on_sent)) {
		free(message);
		drop(client);
	}
}

void socket_send_all(struct socket_sink *sink, const char *line)
{
	struct socket_client *next;

	for (struct socket_client *client = sink->clients; client; client = next) {
		next = client->next;
		socket_send(client, line);
	}
}

void socket_send_listeners(struct socket_sink *sink, const char *line)
{
	struct socket_client *next;

	for (struct socket_client *client = sink->clients; client; client = next) {
		next = client->next;
		if (!client->is_run && !client->is_leaving)
			socket_send(client, line);
	}
}

struct socket_subscription *socket_subscription(struct socket_client *client)
{
	return &client->subscription;
}

bool socket_is_drained(const struct socket_client *client)
{
	return uv_stream_get_write_queue_size((const uv_stream_t *)&client->pipe) == 0;
}

void socket_each(struct socket_sink *sink, void (*visit)(void *argument, struct socket_client *client), void *argument)
{
	struct socket_client *next;

	for (struct socket_client *client = sink->clients; client; client = next) {
		next = client->next;
		visit(argument, client);
	}
}

/* The launcher that came first; NULL none. */
static struct socket_client *first_launcher(const struct socket_sink *sink)
{
	struct socket_client *first = NULL;

	/* Who came last is first in the list. */
	for (struct socket_client *client = sink->clients; client; client = client->next)
		if (client->is_run || client->is_leaving)
			first = client;
	return first;
}

bool socket_send_launcher(struct socket_sink *sink, const char *line)
{
	struct socket_client *first = first_launcher(sink);

	if (first)
		socket_send(first, line);
	return first;
}

void socket_mute_others(struct socket_sink *sink)
{
	const struct socket_client *first = first_launcher(sink);
	struct socket_client *next;

	for (struct socket_client *client = sink->clients; client; client = next) {
		next = client->next;
		if (!client->is_run || (client->knows_place && client->is_muted == (client != first)))
			continue;
		client->knows_place = true;
		client->is_muted = client != first;
		socket_send(client, client->is_muted ? "{\"muted\":true}" : "{\"muted\":false}");
	}
}

static void on_line(void *argument, char *line, size_t length)
{
	struct socket_client *client = argument;
	const struct socket_events *events = &client->sink->events;
	struct request request;

	request_parse(line, length, &request);
	if (request.kind == REQUEST_JOIN || request.kind == REQUEST_LEAVE) {
		client->is_run = request.kind == REQUEST_JOIN;
		client->is_leaving = request.kind == REQUEST_LEAVE;
	} else if (events->asked && !client->closing) {
		events->asked(events->argument, client, &request);
	}
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct socket_client *client = (struct socket_client *)handle;

	(void)suggested;
	*buffer = uv_buf_init(client->chunk, sizeof(client->chunk));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
	struct socket_client *client = (struct socket_client *)stream;

	if (count < 0 || (count > 0 && line_buffer_add(&client->input, buffer->base, (size_t)count, on_line, client)))
		drop(client);
}

/* SO_PEERCRED is filled in by the kernel at connect(2): it cannot be forged, unlike the file's mode it cannot be raced.
 */
static bool is_allowed(const uv_pipe_t *pipe)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	uv_os_fd_t fd;

	return uv_fileno((const uv_handle_t *)pipe, &fd) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

static void on_connection(uv_stream_t *server, int status)
{
	struct socket_sink *sink = (struct socket_sink *)server;
	struct socket_client *client = status < 0 ? NULL : calloc(1, sizeof(*client));

	if (!client)
		return;
	client->sink = sink;
	client->input.limit = REQUEST_LINE;
	uv_pipe_init(server->loop, &client->pipe, 0);
	client->next = sink->clients;
	sink->clients = client;
	sink->client_count++;
	if (uv_accept(server, (uv_stream_t *)&client->pipe) || sink->client_count > MOST_CLIENTS ||
	    !is_allowed(&client->pipe) || uv_read_start((uv_stream_t *)&client->pipe, on_room, on_read)) {
		drop(client);
		return;
	}
	sink->events.came(sink->events.argument, client);
}

static bool answers(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool connected;

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	connected = fd >= 0 && (connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0 || errno == EAGAIN);
	if (fd >= 0)
		close(fd);
	return connected;
}

static int bind_at(struct socket_sink *sink, const char *path)
{
	mode_t mask = umask(0177);
	int err;

	unlink(path); /* of a collector that was killed: nobody answers there */
	err = uv_pipe_bind(&sink->pipe, path);
	umask(mask);
	snprintf(sink->path, sizeof(sink->path), "%s", path);
	return err;
}

/* The lock keeps two collectors from both finding the shared path dead and one removing the other's fresh socket. */
static int listen_at(struct socket_sink *sink, const struct address *address)
{
	int directory = runtime_directory_open(address->directory);
	int err;

	if (directory < 0)
		return directory;
	if (flock(directory, LOCK_EX)) {
		err = -errno;
	} else {
		bool taken = answers(address->shared);
		err = taken && !strcmp(address->shared, address->own)
			  ? -EADDRINUSE
			  : bind_at(sink, taken ? address->own : address->shared);
		if (!err)
			err = uv_listen((uv_stream_t *)&sink->pipe, 16, on_connection);
	}
	close(directory);
	return err;
}

static void on_pipe_closed(uv_handle_t *handle)
{
	struct socket_sink *sink = (struct socket_sink *)handle;

	handle->data = sink; /* it is closed */
	if (sink->unwanted)
		free(sink);
}

int socket_open(struct socket_sink **sink, uv_loop_t *loop, const struct address *address,
		const struct socket_events *events, char *why)
{
	struct socket_sink *made = calloc(1, sizeof(*made));
	int err;

	*sink = NULL;
	if (!made)
		return -ENOMEM;
	made->events = *events;
	uv_pipe_init(loop, &made->pipe, 0);
	err = listen_at(made, address);
	if (err) {
		snprintf(why, WHY, "%s: %s", *made->path ? made->path : address->directory, strerror(-err));
		made->unwanted = true;
		uv_close((uv_handle_t *)&made->pipe, on_pipe_closed);
		return err;
	}
	*sink = made;
	return 0;
}

void socket_stop_listening(struct socket_sink *sink)
{
	if (!uv_is_closing((uv_handle_t *)&sink->pipe))
		uv_close((uv_handle_t *)&sink->pipe, on_pipe_closed);
}

void socket_close(struct socket_sink *sink)
{
	if (!sink)
		return;
	while (sink->clients)
		drop(sink->clients);
	socket_stop_listening(sink);
	sink->unwanted = true;
	if (sink->pipe.data)
		free(sink);
}

const char *socket_path(const struct socket_sink *sink)
{
	return sink->path;
}

unsigned socket_clients(const struct socket_sink *sink)
{
	return sink->client_count;
}

unsigned socket_leaving(const struct socket_sink *sink)
{
	unsigned leaving = 0;

	for (const struct socket_client *client = sink->clients; client; client = client->next)
		leaving += client->is_leaving;
	return leaving;
}

void socket_answer_leaving(struct socket_sink *sink, const char *line, const char *last)
{
	bool is_last = socket_runs(sink) == 0, printed = false;
	struct socket_client *next;

	for (struct socket_client *client = sink->clients; client; client = next) {
		next = client->next;
		if (client->is_leaving)
			socket_send(client, is_last && !printed ? last : line);
		else if (is_last)
			socket_send(client, last);
		printed |= client->is_leaving;
		client->is_leaving = false;
	}
}

void socket_report_end(struct socket_sink *sink, const char *line, const char *last)
{
	const struct socket_client *first = first_launcher(sink);
	struct socket_client *next;

	for (struct socket_client *client = sink->clients; client; client = next) {
		next = client->next;
		if (client->is_run || client->is_leaving)
			socket_send(client, client == first ? last : line);
	}
}

unsigned socket_runs(const struct socket_sink *sink)
{
	unsigned runs = 0;

	for (const struct socket_client *client = sink->clients; client; client = client->next)
		runs += client->is_run;
	return runs;
}
