/* SPDX-License-Identifier: MIT */
#include "rendezvous.h"

#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

enum { PATIENCE_S = 60, RETRY_MS = 20 };

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
	struct timeval patience = { .tv_sec = PATIENCE_S };
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* accept() honours the receive time-out: a rank that never comes ends the job instead of hanging it. */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (!bind(fd, address->ai_addr, address->ai_addrlen) && !listen(fd, SOMAXCONN))
		return fd;
	int err = -errno;
	close(fd);
	return err;
}

static int serve(int listener, int clients, const void *data, size_t size)
{
	while (clients--) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
		close(fd);
		if (sent != (ssize_t)size)
			return -EIO;
	}
	return 0;
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

static int share_from(const struct addrinfo *address, int clients, const void *data, size_t size)
{
	int listener = listen_at(address);

	if (listener < 0)
		return listener;
	int err = serve(listener, clients, data, size);
	close(listener);
	return err;
}

static int receive_from(const struct addrinfo *address, void *data, size_t size)
{
	int fd = connect_to(address);

	if (fd < 0)
		return fd;
	ssize_t received = recv(fd, data, size, MSG_WAITALL);
	close(fd);
	return received == (ssize_t)size ? 0 : -EIO;
}

int rendezvous_share(int rank, int world_size, void *data, size_t size)
{
	struct addrinfo *address;

	if (world_size == 1)
		return 0;
	int err = resolve_master(&address);
	if (err)
		return err;
	err = rank ? receive_from(address, data, size) : share_from(address, world_size - 1, data, size);
	freeaddrinfo(address);
	return err;
}
