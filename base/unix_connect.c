/* SPDX-License-Identifier: MIT */
#include "base/unix_connect.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && (peer.uid == 0 || peer.uid == geteuid());
}

int unix_connect(const char *path, int type)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	size_t length = strlen(path);

	if (length >= sizeof(name.sun_path))
		return -ENAMETOOLONG;
	memcpy(name.sun_path, path, length + 1);

	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	int err = connect(fd, (const struct sockaddr *)&name, sizeof(name)) ? -errno : 0;

	if (!err && !is_trusted(fd))
		err = -EPERM;
	if (!err)
		return fd;
	close(fd);
	return err == -ECONNREFUSED ? -ENOENT : err;
}
