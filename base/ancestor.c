/* SPDX-License-Identifier: MIT */
#include "base/ancestor.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/ancestor_message.h"
#include "base/clock.h"

int ancestor_pair(int ends[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ? -errno : 0;
}

/* -1: none. */
static int descriptor_in(struct msghdr *message)
{
	const struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

/* One message: its bytes; 0 the other end has gone; -EAGAIN. */
static ssize_t receive(int socket, struct ancestor_answer *answer, int *fd)
{
	union ancestor_control control = { .room = { 0 } };
	struct iovec data = { .iov_base = answer, .iov_len = sizeof(*answer) };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t size = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*fd = size >= 0 ? descriptor_in(&message) : -1;
	if (size < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : 0;
	return size;
}

static int await(int socket, const struct ancestor_asked *asked, struct ancestor_answer *answer, int *fd)
{
	uint64_t end_ns = clock_monotonic_ns() + ANCESTOR_MS * UINT64_C(1000000), now_ns;
	struct pollfd wait = { .fd = socket, .events = POLLIN };

	while ((now_ns = clock_monotonic_ns()) < end_ns) {
		if (poll(&wait, 1, (int)((end_ns - now_ns) / 1000000) + 1) <= 0)
			continue;
		ssize_t size = receive(socket, answer, fd);

		if (!size)
			return -EPIPE;
		if (size == (ssize_t)sizeof(*answer) && !memcmp(&answer->asked, asked, sizeof(*asked)))
			return answer->error < 0 ? answer->error : 0;
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
	}
	return -ETIMEDOUT;
}

static int ask(const struct ancestor_question *asked, uint32_t tid, struct ancestor_answer *answer, int *fd)
{
	const struct ancestor_asked question = {
		.number = clock_monotonic_ns(), .start_ticks = asked->start_ticks, .pid = asked->pid, .tid = tid
	};

	*fd = -1;
	if (send(asked->fd, &question, sizeof(question), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return errno == EAGAIN ? -ETIMEDOUT : errno == EPIPE || errno == ECONNRESET ? -EPIPE : -errno;
	return await(asked->fd, &question, answer, fd);
}

int ancestor_open_memory(const struct ancestor_question *question)
{
	struct ancestor_answer answer;
	int fd, err = ask(question, 0, &answer, &fd);

	if (!err && fd < 0)
		err = -EMFILE; /* sent, but there was no room for it here */
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

int ancestor_read_call(const struct ancestor_question *question, uint32_t tid, char line[ANCESTOR_LINE])
{
	struct ancestor_answer answer;
	int fd, err = ask(question, tid, &answer, &fd);

	if (fd >= 0)
		close(fd);
	*line = '\0';
	if (!err)
		memcpy(line, answer.line, ANCESTOR_LINE);
	line[ANCESTOR_LINE - 1] = '\0';
	return err;
}
