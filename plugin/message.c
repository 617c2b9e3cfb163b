/* SPDX-License-Identifier: MIT */
#include "plugin/message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 1000 };

static int log_fd = STDERR_FILENO;

int message_to(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	if (fd < 0)
		return -errno;
	log_fd = fd;
	return 0;
}

/* The job must not die of a line of ours: not by SIGPIPE where nobody reads its standard error any more, not by SIGXFSZ
 * where a file is at its limit. The kernel sends both to the thread that writes. */
static void write_line(const char *line, size_t size)
{
	static const struct timespec now = { 0 };
	struct pollfd room = { .fd = log_fd, .events = POLLOUT };
	sigset_t deadly, before;

	/* A terminal that is halted, a pipe that is full: without this line the job goes on. */
	if (poll(&room, 1, PATIENCE_MS) == 0)
		return;
	sigemptyset(&deadly);
	sigaddset(&deadly, SIGPIPE);
	sigaddset(&deadly, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &deadly, &before);
	if (write(log_fd, line, size) < 0 && (errno == EPIPE || errno == EFBIG))
		sigtimedwait(&deadly, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void message(const char *format, ...)
{
	static const char prefix[] = "rankwatch: ";
	char line[1024];
	va_list arguments;

	snprintf(line, sizeof(line), "%s", prefix);
	va_start(arguments, format);
	int size = vsnprintf(line + sizeof(prefix) - 1, sizeof(line) - sizeof(prefix), format, arguments);
	va_end(arguments);
	if (size < 0)
		return;
	size += sizeof(prefix) - 1;
	if (size > (int)sizeof(line) - 2)
		size = sizeof(line) - 2;
	for (int i = 0; i < size; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?'; /* names come from the job's environment */
	line[size++] = '\n';
	write_line(line, (size_t)size);
}
