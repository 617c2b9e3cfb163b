/* SPDX-License-Identifier: MIT */
#include "blackbox/write_all.h"

#include <errno.h>
#include <unistd.h>

int write_all(int fd, const void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t count = write(fd, (const char *)bytes + done, size - done);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return count ? -errno : -ENOSPC;
		done += (size_t)count;
	}
	return 0;
}
