/* SPDX-License-Identifier: MIT */
#include "collector/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "blackbox/directory.h"

static pid_t read_holder(int fd)
{
	char text[16] = "";

	return pread(fd, text, sizeof(text) - 1, 0) > 0 ? (pid_t)atoi(text) : 0;
}

/* The pid is for people; the flock is what counts, so a failed write changes nothing. */
static void write_holder(int fd)
{
	if (ftruncate(fd, 0) == 0)
		dprintf(fd, "%d\n", (int)getpid());
}

static int open_file(const char *place)
{
	char why[BOX_WHY];
	int directory = box_directory_open(place, false, why);

	if (directory < 0)
		return directory;

	int fd = openat(directory, "collector.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err = fd < 0 ? -errno : 0;

	close(directory);
	return err ? err : fd;
}

int lock_take(struct lock *lock, char (*places)[BOX_PLACE_PATH], int count, pid_t *holder)
{
	int err = -ENOENT;

	*lock = (struct lock){ .fd = -1 };
	*holder = 0;
	for (int i = 0; i < count; i++) {
		int fd = open_file(places[i]);

		snprintf(lock->path, sizeof(lock->path), "%s/collector.lock", places[i]);
		if (fd < 0) {
			err = fd;
			continue;
		}
		if (flock(fd, LOCK_EX | LOCK_NB)) {
			err = errno == EWOULDBLOCK ? -EBUSY : -errno;
			*holder = read_holder(fd);
			close(fd);
			return err;
		}
		write_holder(fd);
		lock->fd = fd;
		return 0;
	}
	return err;
}

void lock_release(struct lock *lock)
{
	if (lock->fd >= 0)
		close(lock->fd);
	lock->fd = -1;
}
