/* SPDX-License-Identifier: MIT */
#include "collector/runtime_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int runtime_directory_open(const char *path)
{
	struct stat status;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;

	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || status.st_uid != geteuid() || (status.st_mode & 022)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}
