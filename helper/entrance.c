/* SPDX-License-Identifier: MIT */
#include "helper/entrance.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_GIVEN = 3, BACKLOG = 128 };

static int number(const char *text)
{
	char *end;
	long value = text ? strtol(text, &end, 10) : -1;

	return text && end != text && !*end && value >= 0 && value < 1 << 22 ? (int)value : -1;
}

static bool has(int fd, int option, int wanted)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return !getsockopt(fd, SOL_SOCKET, option, &value, &size) && value == wanted;
}

/* -ENOENT: systemd has given none. */
static int given_one(char *why)
{
	int pid = number(getenv("LISTEN_PID")), count = number(getenv("LISTEN_FDS"));

	if (pid != getpid() || count < 1)
		return -ENOENT;
	if (count == 1 && has(FIRST_GIVEN, SO_DOMAIN, AF_UNIX) && has(FIRST_GIVEN, SO_TYPE, SOCK_SEQPACKET) &&
	    has(FIRST_GIVEN, SO_ACCEPTCONN, 1) && !fcntl(FIRST_GIVEN, F_SETFD, FD_CLOEXEC) &&
	    !fcntl(FIRST_GIVEN, F_SETFL, O_NONBLOCK))
		return FIRST_GIVEN;
	snprintf(why, ENTRANCE_WHY,
		 "systemd handed over %d sockets, not one that listens for packets (ListenSequentialPacket=)", count);
	return -EINVAL;
}

static bool is_answered(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool answered =
	    fd >= 0 && (!connect(fd, (const struct sockaddr *)address, sizeof(*address)) || errno == EAGAIN);

	if (fd >= 0)
		close(fd);
	return answered;
}

/* Only root may write where the socket lies, or somebody could put another in its place. */
static int make_directory(const struct sockaddr_un *address, char *why)
{
	char path[sizeof(address->sun_path)];
	struct stat status;

	memcpy(path, address->sun_path, sizeof(path));
	*strrchr(path, '/') = '\0';
	if (mkdir(path, 0755) && errno != EEXIST) {
		snprintf(why, ENTRANCE_WHY, "%s: %s", path, strerror(errno));
		return -errno;
	}
	if (!lstat(path, &status) && S_ISDIR(status.st_mode) && !status.st_uid &&
	    !(status.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	snprintf(why, ENTRANCE_WHY, "%s is no directory that only root can write to", path);
	return -EPERM;
}

static int listen_at(const struct sockaddr_un *address, char *why)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask = umask(0111);

	if (fd < 0 || (unlink(address->sun_path) && errno != ENOENT) ||
	    bind(fd, (const struct sockaddr *)address, sizeof(*address)) || listen(fd, BACKLOG)) {
		int err = -errno;

		snprintf(why, ENTRANCE_WHY, "%s: %s", address->sun_path, strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = err;
	}
	umask(mask);
	return fd;
}

int entrance_open(const char *path, bool *given, char *why)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = given_one(why);

	*given = fd != -ENOENT;
	if (*given)
		return fd;
	if (geteuid() != 0) {
		snprintf(why, ENTRANCE_WHY, "only root can start it by hand; systemd does so: systemctl enable --now "
			 "rankwatchd.socket");
		return -EPERM;
	}
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (is_answered(&address)) {
		snprintf(why, ENTRANCE_WHY, "%s is answered already: a rankwatchd runs", path);
		return -EADDRINUSE;
	}

	int err = make_directory(&address, why);

	return err ? err : listen_at(&address, why);
}
