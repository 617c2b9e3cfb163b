/* SPDX-License-Identifier: MIT */
#include "sim/workload/job/store.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sim/workload/job/clock.h"

enum { PATIENCE_S = 60, RETRY_MS = 20, PIECE_S = 5, CLIENTS_MAX = 256 };

/* What goes over a connection, both ways: of a fixed size, and sent in one piece. */
struct message {
	bool set; /* or get */
	char key[STORE_KEY_MAX];
	unsigned char value[STORE_VALUE_MAX];
};

struct client {
	int fd;
	bool waits;
	struct message asked;
};

struct server {
	pthread_t thread;
	int listener, stop[2]; /* pipe */
	struct client clients[CLIENTS_MAX];
	size_t client_count;
	struct message *kept;
	size_t kept_count;
};

struct store {
	int fd;
	struct server *server; /* on rank 0 */
};

static int resolve_master(struct addrinfo **address)
{
	const char *host = getenv("MASTER_ADDR");
	const char *port = getenv("MASTER_PORT");
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };

	if (!host || !port)
		return -EDESTADDRREQ;
	return getaddrinfo(host, port, &hints, address) ? -EADDRNOTAVAIL : 0;
}

static int listen_at(const struct addrinfo *address)
{
	int on = 1;
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(fd, address->ai_addr, address->ai_addrlen) && !listen(fd, SOMAXCONN))
		return fd;
	int err = -errno;
	close(fd);
	return err;
}

static int connect_to(const struct addrinfo *address)
{
	uint64_t deadline_ns = clock_now_ns(CLOCK_MONOTONIC) + PATIENCE_S * 1000000000ULL;
	int err = -ETIMEDOUT;

	while (clock_now_ns(CLOCK_MONOTONIC) < deadline_ns) {
		int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			return -errno;
		if (!connect(fd, address->ai_addr, address->ai_addrlen))
			return fd;
		err = -errno;
		close(fd);
		clock_sleep_ms(RETRY_MS);
	}
	return err;
}

static const struct message *find(const struct server *server, const char *key)
{
	for (size_t i = 0; i < server->kept_count; i++)
		if (!strcmp(server->kept[i].key, key))
			return &server->kept[i];
	return NULL;
}

static void keep(struct server *server, const struct message *message)
{
	struct message *grown = realloc(server->kept, (server->kept_count + 1) * sizeof(*grown));

	if (!grown)
		return; /* whoever asks for it waits until its own watchdog ends it, as with a full TCPStore */
	server->kept = grown;
	server->kept[server->kept_count++] = *message;
}

static void answer(struct server *server, struct client *client)
{
	const struct message *found = find(server, client->asked.key);

	if (!client->waits || !found)
		return;
	client->waits = false;
	send(client->fd, found, sizeof(*found), MSG_NOSIGNAL);
}

/* false: the client has gone. */
static bool serve(struct server *server, struct client *client)
{
	struct message message;

	if (recv(client->fd, &message, sizeof(message), MSG_WAITALL) != sizeof(message))
		return false;
	message.key[STORE_KEY_MAX - 1] = '\0';
	if (message.set) {
		keep(server, &message);
		for (size_t i = 0; i < server->client_count; i++)
			answer(server, &server->clients[i]);
		return true;
	}
	client->asked = message;
	client->waits = true;
	answer(server, client);
	return true;
}

static void accept_client(struct server *server)
{
	/* Who sends half a message keeps the others waiting only so long. */
	struct timeval piece = { .tv_sec = PIECE_S };
	int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (server->client_count == CLIENTS_MAX) {
		close(fd);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &piece, sizeof(piece));
	server->clients[server->client_count++] = (struct client){ .fd = fd };
}

static void drop_client(struct server *server, size_t index)
{
	close(server->clients[index].fd);
	server->clients[index] = server->clients[--server->client_count];
}

static void *server_main(void *argument)
{
	struct server *server = argument;
	struct pollfd polled[CLIENTS_MAX + 2];

	pthread_setname_np(pthread_self(), "pt_tcpstore");
	for (;;) {
		size_t clients = server->client_count;

		polled[0] = (struct pollfd){ .fd = server->stop[0], .events = POLLIN };
		polled[1] = (struct pollfd){ .fd = server->listener, .events = POLLIN };
		for (size_t i = 0; i < clients; i++)
			polled[i + 2] = (struct pollfd){ .fd = server->clients[i].fd, .events = POLLIN };
		if (poll(polled, clients + 2, -1) < 0 && errno != EINTR)
			return NULL;
		if (polled[0].revents)
			return NULL;
		/* From the last to the first: a dropped client's place is taken by one that was looked at. */
		for (size_t i = clients; i > 0; i--)
			if (polled[i + 1].revents && !serve(server, &server->clients[i - 1]))
				drop_client(server, i - 1);
		if (polled[1].revents)
			accept_client(server);
	}
}

static void server_free(struct server *server)
{
	for (size_t i = 0; i < server->client_count; i++)
		close(server->clients[i].fd);
	close(server->listener);
	close(server->stop[0]);
	close(server->stop[1]);
	free(server->kept);
	free(server);
}

static int server_start(struct server **server, const struct addrinfo *address)
{
	struct server *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->listener = listen_at(address);
	int err = made->listener < 0 ? made->listener : pipe2(made->stop, O_CLOEXEC) ? -errno : 0;
	if (err) {
		if (made->listener >= 0)
			close(made->listener);
		free(made);
		return err;
	}
	err = -pthread_create(&made->thread, NULL, server_main, made);
	if (err)
		server_free(made);
	else
		*server = made;
	return err;
}

static int store_connect(struct store *store, int rank)
{
	struct addrinfo *address;
	int err = resolve_master(&address);

	if (err)
		return err;
	if (rank == 0)
		err = server_start(&store->server, address);
	if (!err)
		store->fd = connect_to(address);
	freeaddrinfo(address);
	return err ? err : store->fd < 0 ? store->fd : 0;
}

int store_open(struct store **store, int rank, int ranks)
{
	*store = calloc(1, sizeof(**store));
	if (!*store)
		return -ENOMEM;
	(*store)->fd = -1;
	return ranks > 1 ? store_connect(*store, rank) : 0;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	if (store->fd >= 0)
		close(store->fd);
	if (store->server) {
		if (write(store->server->stop[1], "", 1) == 1)
			pthread_join(store->server->thread, NULL);
		server_free(store->server);
	}
	free(store);
}

static int send_message(struct store *store, bool set, const char *key, const void *value, size_t size)
{
	struct message message = { .set = set };

	if (strlen(key) >= STORE_KEY_MAX || size > STORE_VALUE_MAX)
		return -EMSGSIZE;
	strcpy(message.key, key);
	if (set)
		memcpy(message.value, value, size);
	return send(store->fd, &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message) ? 0 : -EIO;
}

int store_set(struct store *store, const char *key, const void *value, size_t size)
{
	return send_message(store, true, key, value, size);
}

int store_get(struct store *store, const char *key, void *value, size_t size)
{
	struct message message;
	int err = send_message(store, false, key, NULL, size);

	if (err)
		return err;
	if (recv(store->fd, &message, sizeof(message), MSG_WAITALL) != sizeof(message))
		return -EIO;
	memcpy(value, message.value, size);
	return 0;
}
