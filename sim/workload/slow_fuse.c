/* SPDX-License-Identifier: MIT */
/*
 * A slow disk for those who may not throttle a real one: a FUSE file system that passes one flat directory through
 * and lets fsync(2) take as long as a disk of the given speed would need for what was written since the last one.
 *
 *     slow-fuse BYTES_PER_SECOND BACKING_DIRECTORY MOUNT_POINT
 */
#define FUSE_USE_VERSION 31

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

enum { EXIT_MISUSE = 2 };

static struct {
	int backing; /* directory */
	double bytes_per_second;
} disk;

/* What an open file has not synced yet. */
struct slow_file {
	int fd;
	_Atomic size_t unsynced;
};

static struct slow_file *slow_file_of(const struct fuse_file_info *info)
{
	return (struct slow_file *)(uintptr_t)info->fh;
}

/* "/name", as FUSE passes paths, below the backing directory. */
static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int slow_getattr(const char *path, struct stat *status, struct fuse_file_info *info)
{
	(void)info;
	return fstatat(disk.backing, below(path), status, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

static int slow_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
			struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
	(void)path, (void)offset, (void)info, (void)flags;
	int fd = openat(disk.backing, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (!directory)
		return -errno;
	for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory))
		fill(buffer, entry->d_name, NULL, 0, 0);
	closedir(directory);
	return 0;
}

static int open_with(const char *path, int flags, mode_t mode, struct fuse_file_info *info)
{
	struct slow_file *file = calloc(1, sizeof(*file));

	if (!file)
		return -ENOMEM;
	file->fd = openat(disk.backing, below(path), flags | O_CLOEXEC | O_NOFOLLOW, mode);
	if (file->fd < 0) {
		int err = -errno;

		free(file);
		return err;
	}
	info->fh = (uintptr_t)file;
	return 0;
}

static int slow_open(const char *path, struct fuse_file_info *info)
{
	return open_with(path, info->flags, 0, info);
}

static int slow_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
	return open_with(path, info->flags | O_CREAT, mode, info);
}

static int slow_release(const char *path, struct fuse_file_info *info)
{
	struct slow_file *file = slow_file_of(info);

	(void)path;
	close(file->fd);
	free(file);
	return 0;
}

static int slow_read(const char *path, char *data, size_t size, off_t offset, struct fuse_file_info *info)
{
	(void)path;
	ssize_t count = pread(slow_file_of(info)->fd, data, size, offset);

	return count < 0 ? -errno : (int)count;
}

static int slow_write(const char *path, const char *data, size_t size, off_t offset, struct fuse_file_info *info)
{
	struct slow_file *file = slow_file_of(info);

	(void)path;
	ssize_t count = pwrite(file->fd, data, size, offset);
	if (count < 0)
		return -errno;
	file->unsynced += count;
	return (int)count;
}

static int slow_fsync(const char *path, int data_only, struct fuse_file_info *info)
{
	struct slow_file *file = slow_file_of(info);
	size_t bytes = file->unsynced;

	(void)path, (void)data_only;
	file->unsynced -= bytes;
	clock_sleep_ms(bytes * 1000 / disk.bytes_per_second);
	return fsync(file->fd) ? -errno : 0;
}

static int slow_truncate(const char *path, off_t size, struct fuse_file_info *info)
{
	(void)path;
	return info && ftruncate(slow_file_of(info)->fd, size) ? -errno : info ? 0 : -ENOTSUP;
}

static int slow_unlink(const char *path)
{
	return unlinkat(disk.backing, below(path), 0) ? -errno : 0;
}

static const struct fuse_operations operations = {
	.getattr = slow_getattr, .readdir = slow_readdir, .open = slow_open, .create = slow_create,
	.release = slow_release, .read = slow_read, .write = slow_write, .fsync = slow_fsync,
	.truncate = slow_truncate, .unlink = slow_unlink,
};

int main(int argc, char **argv)
{
	if (argc != 4 || atof(argv[1]) <= 0) {
		fprintf(stderr, "usage: slow-fuse BYTES_PER_SECOND BACKING_DIRECTORY MOUNT_POINT\n");
		return EXIT_MISUSE;
	}
	disk.bytes_per_second = atof(argv[1]);
	disk.backing = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (disk.backing < 0) {
		fprintf(stderr, "slow-fuse: %s: %s\n", argv[2], strerror(errno));
		return EXIT_FAILURE;
	}
	/* One request at a time, as a disk. */
	char *arguments[] = { argv[0], "-f", "-s", "-o", "fsname=slow-fuse", argv[3] };
	return fuse_main(6, arguments, &operations, NULL);
}
