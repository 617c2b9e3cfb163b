/* SPDX-License-Identifier: MIT */
#include "lock_liar.h"

#ifdef WITH_FUSE
#define FUSE_USE_VERSION 32

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of the serving process. */
static struct {
	int backing, ready;
	pid_t holder;
} liar;

static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int liar_getattr(const char *path, struct stat *status, struct fuse_file_info *info)
{
	(void)info;
	return fstatat(liar.backing, below(path), status, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

static int liar_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *info,
			enum fuse_readdir_flags flags)
{
	(void)path, (void)offset, (void)info, (void)flags;
	int fd = openat(liar.backing, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (!directory)
		return -errno;
	for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory))
		fill(buffer, entry->d_name, NULL, 0, 0);
	closedir(directory);
	return 0;
}

static int liar_open(const char *path, struct fuse_file_info *info)
{
	int fd = openat(liar.backing, below(path), (info->flags & O_ACCMODE) | O_CLOEXEC | O_NOFOLLOW);

	info->fh = (uint64_t)fd;
	return fd < 0 ? -errno : 0;
}

static int liar_release(const char *path, struct fuse_file_info *info)
{
	(void)path;
	close((int)info->fh);
	return 0;
}

static int liar_read(const char *path, char *data, size_t size, off_t offset, struct fuse_file_info *info)
{
	(void)path;
	ssize_t count = pread((int)info->fh, data, size, offset);
	return count < 0 ? -errno : (int)count;
}

static int liar_lock(const char *path, struct fuse_file_info *info, int command, struct flock *lock)
{
	(void)path, (void)info;
	if (command != F_GETLK)
		return 0;
	*lock = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_pid = liar.holder };
	return 0;
}

static void *liar_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
	(void)connection, (void)config;
	if (write(liar.ready, "", 1) != 1)
		_exit(1);
	return NULL;
}

static const struct fuse_operations operations = {
	.init = liar_init, .getattr = liar_getattr, .readdir = liar_readdir, .open = liar_open, .release = liar_release,
	.read = liar_read, .lock = liar_lock,
};

static void __attribute__((noreturn)) serve(const char *mount_point)
{
	char *arguments[] = { "lock-liar", "-o", "fsname=lock-liar,allow_other" };
	struct fuse_args fuse_arguments = FUSE_ARGS_INIT(3, arguments);
	struct fuse *fuse = fuse_new(&fuse_arguments, &operations, sizeof(operations), NULL);

	alarm(60); /* whatever becomes of the test */
	if (!fuse || fuse_mount(fuse, mount_point))
		_exit(1);
	fuse_loop(fuse);
	fuse_destroy(fuse);
	_exit(0);
}

pid_t lock_liar_start(const char *backing, const char *mount_point, pid_t holder, const char **why)
{
	int ready[2];
	char byte;

	*why = "pipe(2) fails";
	if (pipe(ready))
		return -1;
	pid_t server = fork();
	if (server == 0) {
		close(ready[0]);
		liar.backing = open(backing, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		liar.ready = ready[1];
		liar.holder = holder;
		serve(mount_point);
	}
	close(ready[1]);
	ssize_t begun = read(ready[0], &byte, 1);
	close(ready[0]);
	if (begun == 1)
		return server;
	waitpid(server, NULL, 0);
	*why = "no FUSE file system can be mounted here";
	return -1;
}

void lock_liar_end(pid_t server, const char *mount_point)
{
	umount2(mount_point, MNT_DETACH);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
}

#else

pid_t lock_liar_start(const char *backing, const char *mount_point, pid_t holder, const char **why)
{
	(void)backing, (void)mount_point, (void)holder;
	*why = "built without libfuse3";
	return -1;
}

void lock_liar_end(pid_t server, const char *mount_point)
{
	(void)server, (void)mount_point;
}

#endif
