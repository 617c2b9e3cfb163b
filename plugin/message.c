/* SPDX-License-Identifier: MIT */
#include "plugin/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static int log_fd = STDERR_FILENO;

int message_to(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
	if (fd < 0)
		return -errno;
	log_fd = fd;
	return 0;
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
	if (write(log_fd, line, (size_t)size) < 0)
		return; /* nobody to tell */
}
