/* SPDX-License-Identifier: MIT */
#include "protocol/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blackbox/directory.h"
#include "protocol/runtime_directory.h"

enum { TRIES = 64 };

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

static int open_in(int directory, const char *name)
{
	if (directory < 0)
		return directory;

	int fd = openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err = fd < 0 ? -errno : 0;

	close(directory);
	return err ? err : fd;
}

static int open_beside_boxes(struct lock *lock, char (*places)[BOX_PLACE_PATH], int count)
{
	char why[BOX_WHY];
	int fd = -ENOENT;

	for (int i = 0; i < count && fd < 0; i++) {
		snprintf(lock->path, sizeof(lock->path), "%s/" LOCK_NAME, places[i]);
		/* Again where the last holder took the directory away meanwhile: a lock elsewhere would be a second
		 * one. */
		fd = -ENOENT;
		for (int tries = 0; tries < TRIES && fd == -ENOENT; tries++)
			fd = open_in(box_directory_open(places[i], false, why), LOCK_NAME);
	}
	return fd;
}

static int open_beside_socket(struct lock *lock, const char *directory, const char *job)
{
	char component[BOX_JOB_COMPONENT], name[BOX_JOB_COMPONENT + 16];

	box_job_component(job, component);
	snprintf(name, sizeof(name), "collector-%s.lock", component);
	snprintf(lock->path, sizeof(lock->path), "%s/%s", directory, name);
	return open_in(runtime_directory_open(directory), name);
}

/* Its last holder, or `rankwatch clean`, may take the file away after it was opened here: such a lock keeps nobody
 * out. */
static bool is_in_place(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_nlink;
}

static int open_somewhere(struct lock *lock, char (*places)[BOX_PLACE_PATH], int count, const char *runtime_directory,
			  const char *job)
{
	int fd = open_beside_boxes(lock, places, count);

	lock->beside_boxes = fd >= 0;
	return fd < 0 && runtime_directory ? open_beside_socket(lock, runtime_directory, job) : fd;
}

int lock_take(struct lock *lock, char (*places)[BOX_PLACE_PATH], int count, const char *runtime_directory,
	      const char *job, pid_t *holder)
{
	*lock = (struct lock){ .fd = -1 };
	*holder = 0;
	for (;;) {
		int fd = open_somewhere(lock, places, count, runtime_directory, job);

		if (fd < 0)
			return fd;
		if (flock(fd, LOCK_EX | LOCK_NB)) {
			int err = errno == EWOULDBLOCK ? -EBUSY : -errno;

			*holder = read_holder(fd);
			close(fd);
			return err;
		}
		lock->fd = fd;
		if (is_in_place(fd))
			break;
		close(fd);
	}
	write_holder(lock->fd);
	return 0;
}

void lock_release(struct lock *lock)
{
	if (lock->fd < 0)
		return;
	/* Under the lock: whoever opened the file before finds that it is no longer in place. */
	unlink(lock->path);
	if (lock->beside_boxes)
		rmdir(dirname(lock->path)); /* stays while black boxes are in it */
	close(lock->fd);
	lock->fd = -1;
}
