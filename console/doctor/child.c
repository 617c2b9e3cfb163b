/* SPDX-License-Identifier: MIT */
#include "console/doctor/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void silence(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
	/* A crash here is an answer, not a core file. */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
}

static void write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t written = write(fd, bytes, size);

		if (written <= 0)
			_exit(1);
		bytes += written;
		size -= (size_t)written;
	}
}

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Reads exactly `size` bytes before the deadline. */
static int read_all(int fd, char *bytes, size_t size, long long deadline_ms)
{
	while (size) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
		long long left = deadline_ms - now_ms();
		int ready = left > 0 ? poll(&poll_fd, 1, (int)left) : 0;
		ssize_t length;

		if (ready == 0)
			return -ETIMEDOUT;
		length = ready < 0 ? -1 : read(fd, bytes, size);
		if (length < 0 && errno != EINTR)
			return -errno;
		if (length == 0)
			return -ECHILD;
		if (length > 0) {
			bytes += length;
			size -= (size_t)length;
		}
	}
	return 0;
}

int child_call(void (*work)(const void *argument, void *result, size_t size), const void *argument, void *result,
	       size_t size, unsigned seconds)
{
	int ends[2];

	memset(result, 0, size);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	pid_t child = fork();

	if (child == 0) {
		/* Its own group: whatever it starts is ended with it. */
		setpgid(0, 0);
		silence();
		work(argument, result, size);
		write_all(ends[1], result, size);
		_exit(0);
	}
	close(ends[1]);
	int error = child < 0 ? -errno : read_all(ends[0], result, size, now_ms() + seconds * 1000LL);

	close(ends[0]);
	if (child < 0)
		return error;
	setpgid(child, child);
	kill(-child, SIGKILL);
	kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (error)
		memset(result, 0, size);
	return error;
}
