/* SPDX-License-Identifier: MIT */
#include "blackbox/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* One walk down a path. */
struct walk {
	const char *path;
	size_t length; /* of path, up to and with the component at hand */
	int below;     /* components after it */
	bool named_by_user;
	char *why;
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct walk *walk, int err, const char *format, ...)
{
	va_list arguments;
	/* The end of a long path says more than its start. */
	size_t shown = walk->length < 100 ? walk->length : 100;
	int used = snprintf(walk->why, BOX_WHY, "%.*s ", (int)shown, walk->path + walk->length - shown);

	va_start(arguments, format);
	vsnprintf(walk->why + used, BOX_WHY - (size_t)used, format, arguments);
	va_end(arguments);
	return err;
}

/* A store to a mapped file of any other file system can block, or raise SIGBUS. */
static bool is_memory(int fd)
{
	struct statfs system;

	if (fstatfs(fd, &system))
		return false;
	return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC || system.f_type == HUGETLBFS_MAGIC;
}

static int check_owner(const struct walk *walk, int fd)
{
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_UID | STATX_MODE, &status))
		return refuse(walk, -errno, "cannot be examined: %s", strerror(errno));
	if (status.stx_uid != geteuid())
		return refuse(walk, -EPERM, "belongs to uid %u, not to us (uid %u): remove it or set RANKWATCH_DIR",
			      status.stx_uid, (unsigned)geteuid());
	if (status.stx_mode & (S_IWGRP | S_IWOTH))
		return refuse(walk, -EPERM, "can be written by others: chmod 700 it or set RANKWATCH_DIR");
	return 0;
}

static bool is_ours(const struct walk *walk)
{
	return walk->below < (walk->named_by_user ? 1 : 2);
}

static int make_component(const struct walk *walk, int parent, const char *name)
{
	if (!is_memory(parent))
		return refuse(walk, -EMEDIUMTYPE, "would be on a disk or network file system, where a store can block: "
			      "name a directory on tmpfs");
	if (mkdirat(parent, name, 0700) && errno != EEXIST)
		return refuse(walk, -errno, "cannot be made: %s", strerror(errno));
	return 0;
}

static int open_component(const struct walk *walk, int parent, const char *name)
{
	int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	bool ours = is_ours(walk);
	int fd = openat(parent, name, flags | (ours ? O_NOFOLLOW : 0));

	if (fd < 0 && errno == ENOENT && (ours || walk->named_by_user)) {
		int err = make_component(walk, parent, name);

		if (err)
			return err;
		ours = true;
		fd = openat(parent, name, flags | O_NOFOLLOW);
	}
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return refuse(walk, -errno, "is a symbolic link or no directory: remove it or set RANKWATCH_DIR");
	if (fd < 0)
		return refuse(walk, -errno, "cannot be opened: %s", strerror(errno));

	int err = ours ? check_owner(walk, fd) : 0;

	if (err)
		close(fd);
	return err ? err : fd;
}

static int count_components(const char *path)
{
	int count = 0;

	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		count++;
		path += strcspn(path, "/");
	}
	return count;
}

int box_directory_open(const char *path, bool named_by_user, char *why)
{
	struct walk walk = { path, strlen(path), count_components(path), named_by_user, why };
	int fd = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *at = path + strspn(path, "/");

	while (fd >= 0 && *at) {
		char name[NAME_MAX + 1];
		size_t length = strcspn(at, "/");
		int parent = fd;

		walk.length = (size_t)(at - path) + length;
		walk.below--;
		snprintf(name, sizeof(name), "%.*s", (int)length, at);
		fd = length > NAME_MAX ? refuse(&walk, -ENAMETOOLONG, "is too long a name") :
					 open_component(&walk, parent, name);
		close(parent);
		at += length + strspn(at + length, "/");
	}
	if (fd >= 0 && !is_memory(fd)) {
		close(fd);
		return refuse(&walk, -EMEDIUMTYPE, "is on a disk or network file system, where a store can block: "
			      "name a directory on tmpfs");
	}
	return fd;
}

unsigned long long box_directory_free(int fd)
{
	struct statfs system;

	if (fstatfs(fd, &system))
		return 0;
	/* A tmpfs without a size and a ramfs have no limit and say 0 of everything. */
	return system.f_blocks ? (unsigned long long)system.f_bavail * (unsigned long long)system.f_bsize : UINT64_MAX;
}
