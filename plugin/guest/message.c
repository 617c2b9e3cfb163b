/* SPDX-License-Identifier: MIT */
#include "plugin/guest/message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plugin/guest/patience.h"

enum { LINE = 1024 };

static _Atomic int log_fd = STDERR_FILENO;
static _Atomic int open_error;

static void open_log(const void *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);

	open_error = fd < 0 ? errno : 0;
	if (fd >= 0)
		log_fd = fd; /* also when nobody waits any more */
}

int message_to(const char *path)
{
	size_t size = strlen(path) + 1;

	if (size > PATIENCE_ARGUMENT)
		return -ENAMETOOLONG;
	return patience_run(open_log, path, size) ? -open_error : -ETIMEDOUT;
}

/* Without a request to the server of the file. */
static bool is_regular(int fd)
{
	struct statx status;

	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) == 0 && S_ISREG(status.stx_mode);
}

/* The job must not die of a line of ours: not by SIGPIPE where nobody reads its standard error any more, not by SIGXFSZ
 * where a file is at its limit. The kernel sends both to the thread that writes. */
static void write_line(const void *line)
{
	static const struct timespec now = { 0 };
	sigset_t deadly, before;

	sigemptyset(&deadly);
	sigaddset(&deadly, SIGPIPE);
	sigaddset(&deadly, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &deadly, &before);
	if (write(log_fd, line, strlen(line)) < 0 && (errno == EPIPE || errno == EFBIG))
		sigtimedwait(&deadly, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* A terminal that is halted, a pipe that is full, a file on a mount that does not answer: without this line the job
 * goes on. A file is always ready for poll(), whatever its file system is waiting for. */
static void write_patiently(const char *line)
{
	struct pollfd room = { .fd = log_fd, .events = POLLOUT };

	if (is_regular(log_fd))
		patience_run(write_line, line, strlen(line) + 1);
	else if (poll(&room, 1, PATIENCE_MS) != 0)
		write_line(line);
}

void message(const char *format, ...)
{
	static const char prefix[] = "rankwatch: ";
	char line[LINE];
	va_list arguments;

	snprintf(line, sizeof(line), "%s", prefix);
	va_start(arguments, format);
	int size = vsnprintf(line + sizeof(prefix) - 1, sizeof(line) - sizeof(prefix), format, arguments);
	va_end(arguments);
	if (size < 0)
		return;
	size += sizeof(prefix) - 1;
	if (size > LINE - 2)
		size = LINE - 2;
	for (int i = 0; i < size; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?'; /* names come from the job's environment */
	line[size++] = '\n';
	line[size] = '\0';
	write_patiently(line);
}
