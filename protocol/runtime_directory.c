/* SPDX-License-Identifier: MIT */
#include "protocol/runtime_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_private(const struct stat *status, uid_t user)
{
	return S_ISDIR(status->st_mode) && status->st_uid == user && !(status->st_mode & 022);
}

const char *runtime_directory_usable(const char *path, uid_t user)
{
	struct stat status;

	return path && *path && !stat(path, &status) && is_private(&status, user) ? path : NULL;
}

int runtime_directory_open(const char *path)
{
	struct stat status;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;

	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || !is_private(&status, geteuid())) {
		close(fd);
		return -EPERM;
	}
	return fd;
}
