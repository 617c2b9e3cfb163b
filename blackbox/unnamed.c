/* SPDX-License-Identifier: MIT */
#include "blackbox/unnamed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The ranks of a node start together, and each clears once: no file is lost to as many of them as that. */
enum { MAKE_TRIES = 256 };

static int lock(int fd)
{
	struct flock byte = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };

	return fcntl(fd, F_SETLK, &byte) ? -errno : 0;
}

/* -ESTALE: somebody who clears was between us and our lock. */
static int check_ours(int fd)
{
	struct statx status;
	int err = lock(fd);

	if (err == -EACCES || err == -EAGAIN)
		return -ESTALE;
	/* Without locks nobody clears, and readers fall back to pid and start time. */
	if (err || statx(fd, "", AT_EMPTY_PATH, STATX_NLINK, &status))
		return 0;
	return status.stx_nlink ? 0 : -ESTALE;
}

static int make(int directory, char name[BOX_UNNAMED])
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	/* Unlike any other file: nobody else makes one at this nanosecond with this pid. */
	snprintf(name, BOX_UNNAMED, ".%d-%llu.new", (int)getpid(),
		 (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec);
	int fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int err = check_ours(fd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int box_unnamed_make(int directory, char name[BOX_UNNAMED])
{
	int fd = -ESTALE;

	for (int i = 0; i < MAKE_TRIES && fd == -ESTALE; i++)
		fd = make(directory, name);
	return fd;
}

static bool is_unnamed(const char *name)
{
	static const char digits[] = "0123456789";
	size_t pid = *name == '.' ? strspn(name + 1, digits) : 0;

	if (!pid || name[1 + pid] != '-')
		return false;
	name += 1 + pid + 1;
	size_t time = strspn(name, digits);
	return time && strcmp(name + time, ".new") == 0;
}

static void remove_dead(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;
	if (!lock(fd))
		unlinkat(directory, name, 0); /* under the lock: its maker would find it gone */
	close(fd);
}

void box_unnamed_clear(int directory)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);

	if (!entries) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (const struct dirent *entry; (entry = readdir(entries));)
		if (is_unnamed(entry->d_name))
			remove_dead(directory, entry->d_name);
	closedir(entries);
}
