/* SPDX-License-Identifier: MIT */
#include "blackbox/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void process_read_line(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

void process_boot_id(char boot_id[40])
{
	process_read_line("/proc/sys/kernel/random/boot_id", boot_id, 40);
}

uint64_t process_pid_namespace(void)
{
	struct statx status;

	/* statx and not stat: the plugin must load with glibc 2.28, stat() is a symbol of 2.33. */
	return statx(AT_FDCWD, "/proc/self/ns/pid", 0, STATX_INO, &status) ? 0 : status.stx_ino;
}

uint64_t process_start_time(pid_t pid)
{
	char path[32], stat[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	process_read_line(path, stat, sizeof(stat));

	/* The name may hold spaces and parentheses; field 3 follows its last one. */
	char *field = strrchr(stat, ')');

	for (int i = 2; field && i < 22; i++)
		field = strchr(field + 1, ' ');
	return field ? strtoull(field, NULL, 10) : 0;
}
