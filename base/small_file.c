/* SPDX-License-Identifier: MIT */
#include "base/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

ssize_t small_file_read(int directory, const char *name, char *text, size_t room)
{
	size_t used = 0;
	ssize_t got = 1, err = 0;
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);

	*text = '\0';
	if (fd < 0)
		return -errno;
	while (got > 0 && used < room - 1) {
		got = read(fd, text + used, room - 1 - used);
		used += got > 0 ? (size_t)got : 0;
	}
	if (got < 0)
		err = -errno;
	close(fd);
	text[used] = '\0';
	return err ? err : (ssize_t)used;
}
