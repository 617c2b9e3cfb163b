/* SPDX-License-Identifier: MIT */
#include "helper/doorman.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rankwatch/helper.h>

#include "base/writer_process.h"

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

/* What was read and could not yet be passed on; size 0: nothing. */
struct held {
	uint8_t packet[RW_HELPER_PACKET];
	size_t size;
	int fd;
};

int doorman_descriptor(struct msghdr *message, bool *bad)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int fd = -1;

	*bad = message->msg_flags & (MSG_CTRUNC | MSG_TRUNC);
	if (!header)
		return -1;
	if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
	    header->cmsg_len != CMSG_LEN(sizeof(int)) || CMSG_NXTHDR(message, header))
		*bad = true;
	else
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

bool doorman_lets_in(const void *packet, size_t size, int fd)
{
	struct rw_helper_request request;

	if (size != sizeof(request))
		return false;
	memcpy(&request, packet, sizeof(request));
	if (request.kind == RW_HELPER_WATCH)
		return fd >= 0 && writer_process_is_pidfd(fd);
	return fd < 0 && (request.kind == RW_HELPER_HELLO || request.kind == RW_HELPER_UNWATCH ||
			  request.kind == RW_HELPER_LOOK);
}

/* 1; 0: nothing there; -1: it has gone. */
static int receive(int from, struct held *held, bool *bad)
{
	union control control;
	struct iovec part = { held->packet, sizeof(held->packet) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.room,
				  .msg_controllen = sizeof(control.room) };
	ssize_t size = recvmsg(from, &message, MSG_CMSG_CLOEXEC);

	held->fd = -1;
	if (size < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	held->fd = doorman_descriptor(&message, bad);
	held->size = (size_t)size;
	return size ? 1 : -1;
}

/* 1; 0: no room there; -1: it has gone. */
static int pass_on(int to, struct held *held)
{
	union control control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
					      .cmsg_level = SOL_SOCKET,
					      .cmsg_type = SCM_RIGHTS } };
	struct iovec part = { held->packet, held->size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (held->fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &held->fd, sizeof(held->fd));
		message.msg_control = control.room;
		message.msg_controllen = sizeof(control.room);
	}
	if (sendmsg(to, &message, MSG_NOSIGNAL) < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (held->fd >= 0)
		close(held->fd);
	held->size = 0;
	held->fd = -1;
	return 1;
}

/* One packet at most. False: the conversation is over. */
static bool relay(int from, int to, struct held *held, bool from_client)
{
	bool bad = false;
	int got = held->size ? 1 : receive(from, held, &bad);

	if (got <= 0)
		return got == 0;
	if (from_client && (bad || !doorman_lets_in(held->packet, held->size, held->fd)))
		return false;
	return pass_on(to, held) >= 0;
}

static void refuse(int client, const char *why)
{
	struct rw_helper_answer answer = {
		.kind = RW_HELPER_ANSWER, .number = 1, .error = -EUSERS, .version = RW_HELPER_VERSION
	};

	snprintf(answer.why, sizeof(answer.why), "%s", why);
	if (send(client, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
		_exit(1);
}

_Noreturn void doorman_run(int client, int helper, const char *why)
{
	static struct held up, down;
	bool going_on = !why;

	if (why)
		refuse(client, why);
	while (going_on) {
		/* While one end is full nothing more is read from the other. */
		struct pollfd ends[] = {
			{ .fd = client, .events = (short)((up.size ? 0 : POLLIN) | (down.size ? POLLOUT : 0)) },
			{ .fd = helper, .events = (short)((down.size ? 0 : POLLIN) | (up.size ? POLLOUT : 0)) },
		};

		if (poll(ends, 2, -1) < 0 && errno != EINTR)
			break;
		going_on = relay(helper, client, &down, false) && relay(client, helper, &up, true);
	}
	_exit(0);
}
