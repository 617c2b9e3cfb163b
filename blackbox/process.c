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

/* proc_pid_stat(5) numbers the fields. */
enum { STATE = 3, THREADS = 20, START_TIME = 22, STAT_ROOM = 1024 };

/* The fields from the third one on: the name before them may hold spaces and parentheses. NULL: there is no such
 * process. */
static const char *read_stat(pid_t pid, char stat[STAT_ROOM])
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	process_read_line(path, stat, STAT_ROOM);
	const char *name_end = strrchr(stat, ')');

	return name_end && name_end[1] == ' ' ? name_end + 2 : NULL;
}

static uint64_t number_in(const char *fields, int field)
{
	for (int i = STATE; fields && i < field; i++) {
		fields = strchr(fields, ' ');
		fields += fields != NULL;
	}
	return fields ? strtoull(fields, NULL, 10) : 0;
}

uint64_t process_start_time(pid_t pid)
{
	char stat[STAT_ROOM];

	return number_in(read_stat(pid, stat), START_TIME);
}

bool process_runs(pid_t pid, uint64_t start_time)
{
	char stat[STAT_ROOM];
	const char *fields = read_stat(pid, stat);

	if (!fields || number_in(fields, START_TIME) != start_time)
		return false;
	return (*fields != 'Z' && *fields != 'X') || number_in(fields, THREADS) > 1;
}
