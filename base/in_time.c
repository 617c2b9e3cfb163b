/* SPDX-License-Identifier: MIT */
#include "base/in_time.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { FIRST_KEPT = STDERR_FILENO + 1, ASIDE = 16 /* above all that are kept */ };

static void close_from(int first)
{
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, (unsigned)first, ~0u, 0))
		return;
#endif
	DIR *open_files = opendir("/proc/self/fd"); /* before Linux 5.9 */

	for (const struct dirent *one; open_files && (one = readdir(open_files));)
		if (atoi(one->d_name) >= first && atoi(one->d_name) != dirfd(open_files))
			close(atoi(one->d_name));
	if (open_files)
		closedir(open_files);
}

void in_time_become_alone(int *keep, int count)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	/* First out of the way of one another. */
	for (int i = 0; i < count; i++)
		keep[i] = fcntl(keep[i], F_DUPFD, ASIDE);
	for (int i = 0; i < count; i++) {
		keep[i] = dup2(keep[i], FIRST_KEPT + i);
		if (keep[i] < 0)
			close(FIRST_KEPT + i);
	}
	close_from(FIRST_KEPT + count);
}

/* 0 when something can be read, or the other end is closed. */
static int wait_for(int fd, unsigned timeout_ms)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	long long end_ms = (long long)clock_monotonic_ms() + timeout_ms;
	int ready;

	do {
		long long left = end_ms - (long long)clock_monotonic_ms();

		ready = poll(&wait, 1, left > 0 ? (int)left : 0);
	} while (ready < 0 && errno == EINTR);
	return ready > 0 ? 0 : ready ? -errno : -ETIMEDOUT;
}

/* In a file system that does not answer it cannot even be killed: then it is left to init. */
static void dismiss(pid_t child, int err)
{
	if (err == -ETIMEDOUT) {
		kill(child, SIGKILL);
		waitpid(child, NULL, WNOHANG);
		return;
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

/* In the child. The end that the result goes to comes first. */
static int keep_lent(int end, int *lent, int count)
{
	int keep[1 + IN_TIME_LENT] = { end };

	if (count)
		memcpy(keep + 1, lent, (size_t)count * sizeof(*lent));
	in_time_become_alone(keep, 1 + count);
	if (count)
		memcpy(lent, keep + 1, (size_t)count * sizeof(*lent));
	return keep[0];
}

/* In the child, whose standard files and descriptors are its own from here on. */
static void __attribute__((noreturn))
do_work(void (*work)(const void *argument, void *result), const void *argument, int end, size_t size)
{
	_Alignas(max_align_t) char result[IN_TIME_RESULT] = { 0 };

	work(argument, result);
	_exit(send(end, result, size, MSG_NOSIGNAL) != (ssize_t)size);
}

static int begin(struct in_time_work *begun, void (*work)(const void *argument, void *result), const void *argument,
		 int *lent, int count, size_t size)
{
	int ends[2];

	*begun = (struct in_time_work){ .end = -1, .size = size };
	if (size > IN_TIME_RESULT || count > IN_TIME_LENT)
		return -EINVAL;
	/* Of messages: the result comes whole or not at all. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid_t child = fork();
	int err = child < 0 ? -errno : 0;

	if (!child)
		do_work(work, argument, keep_lent(ends[1], lent, count), size);
	close(ends[1]);
	if (err) {
		close(ends[0]);
		return err;
	}
	begun->child = child;
	begun->end = ends[0];
	return 0;
}

static void finish(struct in_time_work *begun, int err)
{
	close(begun->end);
	dismiss(begun->child, err);
	*begun = (struct in_time_work){ .end = -1 };
}

int in_time_begin(struct in_time_work *begun, void (*work)(const void *argument, void *result), const void *argument,
		  size_t size)
{
	return begin(begun, work, argument, NULL, 0, size);
}

int in_time_result(struct in_time_work *begun, void *result, unsigned timeout_ms)
{
	size_t size = begun->size;
	int err = begun->child ? wait_for(begun->end, timeout_ms) : -ESRCH;

	memset(result, 0, size);
	if (err)
		return err == -ETIMEDOUT ? -EAGAIN : err;
	if (recv(begun->end, result, size, 0) != (ssize_t)size) {
		memset(result, 0, size);
		err = -ECHILD;
	}
	finish(begun, err);
	return err;
}

void in_time_give_up(struct in_time_work *begun)
{
	if (begun->child)
		finish(begun, -ETIMEDOUT);
}

int in_time_call(void (*work)(const void *argument, void *result), const void *argument, void *result, size_t size,
		 unsigned timeout_ms)
{
	return in_time_call_lending(work, argument, NULL, 0, result, size, timeout_ms);
}

int in_time_call_lending(void (*work)(const void *argument, void *result), const void *argument, int *lent, int count,
			 void *result, size_t size, unsigned timeout_ms)
{
	struct in_time_work begun;
	int err;

	memset(result, 0, size);
	err = begin(&begun, work, argument, lent, count, size);
	if (err)
		return err;
	err = in_time_result(&begun, result, timeout_ms);
	in_time_give_up(&begun);
	return err == -EAGAIN ? -ETIMEDOUT : err;
}

/* A descriptor, or an errno, as one message. */
union passed {
	char room[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static void __attribute__((noreturn)) open_and_pass(const char *path, int flags, int out)
{
	int fd = open(path, flags | O_CLOEXEC), err = fd < 0 ? errno : 0;
	union passed passed = { 0 };
	struct iovec body = { &err, sizeof(err) };
	struct msghdr message = { .msg_iov = &body, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = passed.room;
		message.msg_controllen = sizeof(passed.room);
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);

		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	}
	sendmsg(out, &message, 0);
	_exit(0);
}

static int take_passed(int in)
{
	union passed passed = { 0 };
	int err = ECHILD, fd = -1;
	struct iovec body = { &err, sizeof(err) };
	struct msghdr message = {
		.msg_iov = &body, .msg_iovlen = 1, .msg_control = passed.room, .msg_controllen = sizeof(passed.room)
	};

	if (recvmsg(in, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(err))
		return -ECHILD;
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd >= 0 ? fd : err ? -err : -EMFILE; /* sent, but there was no room for it here */
}

bool in_time_is_own(const char *path)
{
	return !strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6);
}

int in_time_open(const char *path, int flags, unsigned timeout_ms)
{
	int ends[2];

	if (in_time_is_own(path)) {
		int fd = open(path, flags | O_CLOEXEC);

		return fd < 0 ? -errno : fd;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid_t child = fork();

	if (!child) {
		in_time_become_alone(&ends[1], 1);
		open_and_pass(path, flags, ends[1]);
	}
	close(ends[1]);
	int err = child < 0 ? -errno : wait_for(ends[0], timeout_ms);
	int fd = err ? err : take_passed(ends[0]);

	close(ends[0]);
	if (child > 0)
		dismiss(child, err);
	return fd;
}
