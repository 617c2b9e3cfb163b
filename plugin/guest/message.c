/* SPDX-License-Identifier: MIT */
#include "plugin/guest/message.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plugin/guest/patience.h"

enum { LINE = 1024 };

static _Atomic int log_fd = STDERR_FILENO;
static _Atomic int open_error;
/* Of the log's file. A program that closes every descriptor it does not know may open a file of its own under the log's
 * number, and that file shall get no line of ours. Standard error is whatever the program makes of its number. */
static char log_path[PATH_MAX]; /* absolute; "": standard error, or it cannot be opened again */
static _Atomic bool is_file;
static _Atomic uint64_t log_device, log_inode;

static bool look(int fd, struct statx *status)
{
	/* Without a request to the server of the file. */
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, status) == 0;
}

static uint64_t device_of(const struct statx *status)
{
	return (uint64_t)status->stx_dev_major << 32 | status->stx_dev_minor;
}

static bool is_log(const struct statx *status)
{
	return device_of(status) == log_device && status->stx_ino == log_inode;
}

static int open_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	struct statx status;

	if (fd < 0)
		return -errno;
	if (!look(fd, &status)) {
		close(fd);
		return -EIO;
	}
	log_device = device_of(&status);
	log_inode = status.stx_ino;
	is_file = true;
	log_fd = fd; /* also when nobody waits any more */
	return 0;
}

static void open_log(const void *path)
{
	open_error = -open_file(path);
	if (!open_error && !realpath(path, log_path))
		log_path[0] = '\0';
}

int message_to(const char *path)
{
	size_t size = strlen(path) + 1;

	if (size > PATIENCE_ARGUMENT)
		return -ENAMETOOLONG;
	return patience_run(open_log, path, size) ? -open_error : -ETIMEDOUT;
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

/* Opens the log again if its number is another file's by now, or nobody's. */
static void write_to_file(const void *line)
{
	struct statx status;
	bool kept = !is_file || (look(log_fd, &status) && is_log(&status));

	if (kept || (log_path[0] && open_file(log_path) == 0))
		write_line(line);
}

/* A terminal that is halted, a pipe that is full, a file on a mount that does not answer: without this line the job
 * goes on. A file is always ready for poll(), whatever its file system is waiting for. */
static void write_patiently(const char *line)
{
	struct pollfd room = { .fd = log_fd, .events = POLLOUT };
	struct statx status = { 0 };
	bool is_there = look(room.fd, &status);

	if (S_ISREG(status.stx_mode) || (is_file && !(is_there && is_log(&status))))
		patience_run(write_to_file, line, strlen(line) + 1);
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
