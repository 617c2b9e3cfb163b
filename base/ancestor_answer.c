/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/ancestor_message.h"
#include "base/writer_process.h"

/* The memory's descriptor, or 0 and a line, or -errno. */
static int read_call(int process, uint32_t tid, char line[ANCESTOR_LINE])
{
	char path[48] = "mem";

	if (tid)
		snprintf(path, sizeof(path), "task/%" PRIu32 "/syscall", tid);
	int fd = openat(process, path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 && tid ? read(fd, line, ANCESTOR_LINE - 1) : 0;
	int err = fd < 0 || length < 0 ? -errno : 0;

	if (fd >= 0 && (err || tid))
		close(fd);
	return err || tid ? err : fd;
}

static int look_at_own(const struct ancestor_asked *asked, char line[ANCESTOR_LINE])
{
	struct writer_process process;
	char why[WRITER_PROCESS_WHY];
	int found = writer_process_open(&process, asked->pid, geteuid(), asked->start_ticks, why);

	if (found)
		return found;
	found = read_call(process.proc_fd, asked->tid, line);
	int err = writer_process_check(&process, why);

	if (err && found > 0)
		close(found);
	writer_process_close(&process);
	return err ? err : found;
}

static ssize_t send_answer(int socket, struct ancestor_answer *answer, int fd)
{
	union ancestor_control control = { .room = { 0 } };
	struct iovec data = { .iov_base = answer, .iov_len = sizeof(*answer) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };

	if (fd > 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(fd)),
						   .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool ancestor_answer(int socket)
{
	struct ancestor_answer answer = { .error = 0 };
	ssize_t size = recv(socket, &answer.asked, sizeof(answer.asked), MSG_DONTWAIT);

	if (size < 0)
		return errno == EAGAIN || errno == EINTR;
	if (size != (ssize_t)sizeof(answer.asked))
		return false;
	int found = look_at_own(&answer.asked, answer.line);

	answer.error = found < 0 ? found : 0;
	size = send_answer(socket, &answer, found);
	bool is_there = size >= 0 || errno == EAGAIN; /* who does not take answers gets none */
	if (found > 0)
		close(found);
	return is_there;
}
