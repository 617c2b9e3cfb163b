/* SPDX-License-Identifier: MIT */
#include "console/boxes/box_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static size_t length_of(const char *box)
{
	const char *slash = strrchr(box, '/');

	return slash ? (size_t)(slash - box) + 1 : 0;
}

char *box_folder_name(const char *box, char path[PATH_MAX])
{
	size_t length = length_of(box);

	if (length >= PATH_MAX)
		return NULL;
	if (!length)
		return strcpy(path, ".");
	memcpy(path, box, length);
	path[length > 1 ? length - 1 : 1] = '\0'; /* "/" stays */
	return path;
}

int box_folder_open(const char *box)
{
	char path[PATH_MAX];

	if (!box_folder_name(box, path))
		return -ENAMETOOLONG;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

bool box_folder_is_same(const char *box, const char *other)
{
	size_t length = length_of(box);

	return length == length_of(other) && !strncmp(box, other, length);
}
