/* SPDX-License-Identifier: MIT */
#include "sim/cuda/devices/device_file.h"

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cuda/devices/device.h"

/* Nothing is left behind: the descriptor alone keeps the file. */
static int open_named(CUdevice device)
{
	const char *parent = getenv("TMPDIR");
	char directory[256], dev[272], path[300];
	int fd = -1;

	snprintf(directory, sizeof(directory), "%s/sim-cuda-XXXXXX", parent && *parent == '/' ? parent : "/tmp");
	if (!mkdtemp(directory))
		return -1;
	snprintf(dev, sizeof(dev), "%s/dev", directory);
	snprintf(path, sizeof(path), "%s/nvidia%d", dev, device_minor(device));
	if (mkdir(dev, 0700) == 0 && mkfifo(path, 0600) == 0)
		fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	unlink(path);
	rmdir(dev);
	rmdir(directory);
	return fd;
}

int device_file_open(CUdevice device)
{
	int fd = open_named(device);

	return fd >= 0 ? fd : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

void device_file_ring(int fd)
{
	/* A full one is readable, too. */
	uint64_t once = 1;
	ssize_t ignored = write(fd, &once, sizeof(once));

	(void)ignored;
}

void device_file_wait(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char bytes[64];

	/* A program may close what is not its own: who waits then looks again and again. */
	if (poll(&ready, 1, -1) < 0 || ready.revents & POLLNVAL)
		usleep(1000);
	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
}
