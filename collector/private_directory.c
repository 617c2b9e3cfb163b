/* SPDX-License-Identifier: MIT */
#include "collector/private_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_parent(const char *path)
{
	char parent[PATH_MAX];
	char *slash;

	if (snprintf(parent, sizeof(parent), "%s", path) >= (int)sizeof(parent))
		return -ENAMETOOLONG;
	slash = strrchr(parent, '/');
	if (!slash || slash == parent)
		return 0;
	*slash = '\0';
	return mkdir(parent, 0700) && errno != EEXIST ? -errno : 0;
}

int private_directory_open(const char *path)
{
	struct stat status;
	int err = make_parent(path);

	/* The parent may exist and not be ours to write (EROFS, EACCES): what counts is whether `path` can be used. */
	if (mkdir(path, 0700) && errno != EEXIST)
		return err ? err : -errno;

	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || status.st_uid != geteuid() || (status.st_mode & 022)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}
