/* SPDX-License-Identifier: MIT */
#include "console/doctor/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "console/cli/privileges.h"

enum { WORKS = 0, CUT_SHORT = 1, PRIVILEGED = 77 }; /* exit statuses of the child */

struct task {
	child_work *work;
	const void *argument;
	bool foreign; /* it loads or runs `file` */
	const char *file;
};

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
			_exit(CUT_SHORT);
		bytes += written;
		size -= (size_t)written;
	}
}

/* Reads exactly `size` bytes before the deadline. */
static int read_all(int fd, char *bytes, size_t size, long long deadline_ms)
{
	while (size) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
		long long left = deadline_ms - (long long)clock_monotonic_ms();
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

static void __attribute__((noreturn)) become_child(const struct task *task, int result_fd, void *result, size_t size)
{
	/* Its own group: whatever it starts is ended with it. */
	setpgid(0, 0);
	silence();
	if (task->foreign && privileges_drop(task->file))
		_exit(PRIVILEGED);
	task->work(task->argument, result, size);
	write_all(result_fd, result, size);
	_exit(WORKS);
}

/* Ends the child, whatever it is doing; its exit status, -1 when a signal ended it. */
static int end(pid_t child)
{
	int status = 0;

	setpgid(child, child);
	kill(-child, SIGKILL);
	kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int call(const struct task *task, void *result, size_t size, unsigned seconds)
{
	int ends[2];

	memset(result, 0, size);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	pid_t child = fork();

	if (child == 0)
		become_child(task, ends[1], result, size);
	close(ends[1]);
	int error =
	    child < 0 ? -errno : read_all(ends[0], result, size, (long long)clock_monotonic_ms() + seconds * 1000LL);

	close(ends[0]);
	if (child < 0)
		return error;
	if (end(child) == PRIVILEGED && error == -ECHILD)
		error = -EPERM;
	if (error)
		memset(result, 0, size);
	return error;
}

int child_call(child_work *work, const void *argument, void *result, size_t size, unsigned seconds)
{
	return call(&(struct task){ .work = work, .argument = argument }, result, size, seconds);
}

int child_try(const char *file, child_work *work, const void *argument, void *result, size_t size, unsigned seconds)
{
	return call(&(struct task){ .work = work, .argument = argument, .foreign = true, .file = file }, result, size,
		    seconds);
}

const char *child_error_text(int error)
{
	return error == -ETIMEDOUT ? "it does not answer"
	       : error == -EPERM   ? "not tried: privileges could not be given up"
				   : "it crashed";
}
