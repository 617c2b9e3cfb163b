/* SPDX-License-Identifier: MIT */
/*
 * A slow disk for those who may not throttle a real one, and an NFS-like one: a FUSE file system that passes one flat
 * directory through. fsync(2) and close(2) take as long as a disk of the given speed would need for what was written
 * since the last one, reads as long as for what is read; with "sync" each write(2) does, as on a mount with that
 * option. At 1 byte a second it is a server that never answers again. A process in it can be killed, as with NFS.
 *
 *     slow-fuse BYTES_PER_SECOND BACKING_DIRECTORY MOUNT_POINT [sync]
 */
#define FUSE_USE_VERSION 32

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_MISUSE = 2 };

static struct {
	int backing; /* directory */
	double bytes_per_second;
	bool sync;
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

/* As long as this many bytes take; -EINTR when the process that waits for it is killed: libfuse then signals us. */
static int take_time(size_t bytes)
{
	double seconds = bytes / disk.bytes_per_second;
	struct timespec left = { .tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (time_t)seconds) * 1e9) };

	while (nanosleep(&left, &left))
		if (fuse_interrupted())
			return -EINTR;
	return 0;
}

/* What was written since the last time is on its way to the disk. */
static int take_time_for_unsynced(struct slow_file *file)
{
	size_t bytes = file->unsynced;

	file->unsynced -= bytes;
	return take_time(bytes);
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

	if (count < 0)
		return -errno;
	int err = take_time(count);
	return err ? err : (int)count;
}

static int slow_write(const char *path, const char *data, size_t size, off_t offset, struct fuse_file_info *info)
{
	struct slow_file *file = slow_file_of(info);

	(void)path;
	ssize_t count = pwrite(file->fd, data, size, offset);
	if (count < 0)
		return -errno;
	file->unsynced += count;
	int err = disk.sync ? take_time_for_unsynced(file) : 0;
	return err ? err : (int)count;
}

/* At each close(2). */
static int slow_flush(const char *path, struct fuse_file_info *info)
{
	(void)path;
	return take_time_for_unsynced(slow_file_of(info));
}

static int slow_fsync(const char *path, int data_only, struct fuse_file_info *info)
{
	struct slow_file *file = slow_file_of(info);

	(void)path, (void)data_only;
	int err = take_time_for_unsynced(file);
	return err ? err : fsync(file->fd) ? -errno : 0;
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

/* That a waiting process was killed is reported to us by SIGUSR1; this needs a second thread beside the one that
 * sleeps. */
static void *slow_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
	(void)connection;
	config->intr = 1;
	return NULL;
}

static void wake_up(int number)
{
	(void)number;
}

static const struct fuse_operations operations = {
	.init = slow_init,
	.getattr = slow_getattr, .readdir = slow_readdir, .open = slow_open, .create = slow_create,
	.release = slow_release, .read = slow_read, .write = slow_write, .flush = slow_flush, .fsync = slow_fsync,
	.truncate = slow_truncate, .unlink = slow_unlink,
};

static int serve(char *program, const char *mount_point)
{
	char *arguments[] = { program, "-o", "fsname=slow-fuse" };
	struct fuse_loop_config threads = { .max_idle_threads = 4 };
	struct fuse_args fuse_arguments = FUSE_ARGS_INIT(3, arguments);
	struct fuse *fuse = fuse_new(&fuse_arguments, &operations, sizeof(operations), NULL);

	if (!fuse)
		return EXIT_FAILURE;
	/* libfuse would do this itself only for its command line's option of old. */
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = wake_up }, NULL);
	int status = EXIT_FAILURE;
	if (!fuse_mount(fuse, mount_point)) {
		fuse_set_signal_handlers(fuse_get_session(fuse));
		status = fuse_loop_mt(fuse, &threads) ? EXIT_FAILURE : EXIT_SUCCESS;
		fuse_unmount(fuse);
	}
	fuse_destroy(fuse);
	return status;
}

int main(int argc, char **argv)
{
	disk.sync = argc == 5 && !strcmp(argv[4], "sync");
	if ((argc != 4 && !disk.sync) || atof(argv[1]) <= 0) {
		fprintf(stderr, "usage: slow-fuse BYTES_PER_SECOND BACKING_DIRECTORY MOUNT_POINT [sync]\n");
		return EXIT_MISUSE;
	}
	disk.bytes_per_second = atof(argv[1]);
	disk.backing = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (disk.backing < 0) {
		fprintf(stderr, "slow-fuse: %s: %s\n", argv[2], strerror(errno));
		return EXIT_FAILURE;
	}
	return serve(argv[0], argv[3]);
}
