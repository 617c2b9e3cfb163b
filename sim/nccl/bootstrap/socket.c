/* SPDX-License-Identifier: MIT */
#include "sim/nccl/bootstrap/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/nccl/bootstrap/interface.h"
#include "sim/nccl/log.h"

#define CONNECT_LIMIT_MS 20000
#define STOP_LOOK_MS     200 /* how late a wait may notice that it was stopped */

static socklen_t address_size(const union socket_address *address)
{
	return address->family == AF_INET6 ? sizeof(address->v6) : sizeof(address->v4);
}

struct socket_text socket_text(const union socket_address *address)
{
	const void *bytes = &address->v4.sin_addr;
	in_port_t port = address->v4.sin_port;
	char host[INET6_ADDRSTRLEN] = "?";
	struct socket_text text;

	if (address->family == AF_INET6) {
		bytes = &address->v6.sin6_addr;
		port = address->v6.sin6_port;
	}
	inet_ntop(address->family, bytes, host, sizeof(host));
	snprintf(text.text, sizeof(text.text), "%s<%d>", host, ntohs(port));
	return text;
}

static int listen_on(int fd, union socket_address *address)
{
	socklen_t size = address_size(address);

	if (bind(fd, &address->any, size) < 0 || listen(fd, SOMAXCONN) < 0 || getsockname(fd, &address->any, &size) < 0)
		return -errno;
	return 0;
}

ncclResult_t socket_listen(int *fd, union socket_address *address)
{
	ncclResult_t result = interface_address(address);

	if (result != ncclSuccess)
		return result;
	*fd = socket(address->family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int err = *fd < 0 ? -errno : listen_on(*fd, address);
	if (!err)
		return ncclSuccess;
	log_warn("Call to bind or listen on %s failed : %s", socket_text(address).text, strerror(-err));
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return ncclSystemError;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* How long one poll may take: what is left, but never so long that a stop would go unnoticed. -1 = any time. */
static int poll_ms(int64_t until_ms, bool stoppable)
{
	int most = stoppable ? STOP_LOOK_MS : -1;

	if (until_ms < 0)
		return most;
	int64_t left_ms = until_ms - now_ms();
	if (left_ms < 0)
		left_ms = 0;
	return most >= 0 && left_ms > most ? most : (int)left_ms;
}

/* 0 when the descriptor is ready; until_ms < 0 = no limit. */
static int wait_ready(int fd, short events, int64_t until_ms, const atomic_bool *stop)
{
	struct pollfd poll_fd = { .fd = fd, .events = events };

	for (;;) {
		if (stop && atomic_load(stop))
			return -ECANCELED;
		int ready = poll(&poll_fd, 1, poll_ms(until_ms, stop));
		if (ready > 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (until_ms >= 0 && now_ms() >= until_ms)
			return -ETIMEDOUT;
	}
}

static int64_t until(int timeout_ms)
{
	return timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
}

/* Connects without blocking, so that an address that answers nothing can be given up. */
static int connect_within(int fd, const union socket_address *address, const atomic_bool *stop)
{
	int err = 0, one = 1;
	socklen_t size = sizeof(err);

	if (connect(fd, &address->any, address_size(address)) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	err = wait_ready(fd, POLLOUT, until(CONNECT_LIMIT_MS), stop);
	if (err)
		return err;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) < 0)
		return -errno;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return -err;
}

ncclResult_t socket_connect(int *fd, const union socket_address *address, const atomic_bool *stop)
{
	*fd = socket(address->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err = *fd < 0 ? -errno : connect_within(*fd, address, stop);
	if (!err)
		return ncclSuccess;
	log_warn("socketStartConnect: connect to %s returned %s", socket_text(address).text, strerror(-err));
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return err == -ECANCELED ? ncclInvalidUsage : ncclRemoteError;
}

int socket_accept(int fd, int timeout_ms, const atomic_bool *stop)
{
	int64_t until_ms = until(timeout_ms);

	for (;;) {
		int one = 1, err = wait_ready(fd, POLLIN, until_ms, stop);
		if (err)
			return err;
		int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (client >= 0) {
			setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			return client;
		}
		if (errno != EINTR && errno != ECONNABORTED && errno != EAGAIN)
			return -errno;
	}
}

int socket_send(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
		int err = sent < 0 ? -errno : 0;
		if (err == -EAGAIN)
			err = wait_ready(fd, POLLOUT, until(CONNECT_LIMIT_MS), NULL);
		if (err && err != -EINTR)
			return err;
		at += sent > 0 ? sent : 0;
		size -= sent > 0 ? (size_t)sent : 0;
	}
	return 0;
}

int socket_receive(int fd, void *bytes, size_t size, int timeout_ms, const atomic_bool *stop)
{
	int64_t until_ms = until(timeout_ms);
	char *at = bytes;

	while (size) {
		int err = wait_ready(fd, POLLIN, until_ms, stop);
		if (err)
			return err;
		ssize_t got = recv(fd, at, size, 0);
		if (got == 0)
			return -ECONNRESET;
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		at += got > 0 ? got : 0;
		size -= got > 0 ? (size_t)got : 0;
	}
	return 0;
}
