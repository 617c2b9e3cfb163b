/* SPDX-License-Identifier: MIT */
#include "finding/jsonl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int jsonl_open(const char *path)
{
	if (strcmp(path, "-") == 0)
		return STDOUT_FILENO;

	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);

	return fd < 0 ? -errno : fd;
}

int jsonl_write(int fd, const char *line)
{
	char newline[] = "\n";
	struct iovec parts[] = { { (char *)line, strlen(line) }, { newline, 1 } };
	size_t whole = parts[0].iov_len + 1;
	ssize_t written;

	do
		written = writev(fd, parts, 2);
	while (written < 0 && errno == EINTR);
	if (written < 0)
		return -errno;
	return (size_t)written == whole ? 0 : -ENOSPC;
}

void jsonl_close(int fd)
{
	if (fd > STDOUT_FILENO)
		close(fd);
}
