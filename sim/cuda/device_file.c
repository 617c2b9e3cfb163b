/* SPDX-License-Identifier: MIT */
#include "device_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"

static pthread_key_t files_of_thread;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void close_all(void *list)
{
	struct device_file *file = list;

	while (file) {
		struct device_file *next = file->next;
		close(file->fd);
		free(file);
		file = next;
	}
}

static void make_key(void)
{
	pthread_key_create(&files_of_thread, close_all);
}

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

struct device_file *device_file_of_thread(CUdevice device)
{
	pthread_once(&once, make_key);
	struct device_file *first = pthread_getspecific(files_of_thread);
	for (struct device_file *file = first; file; file = file->next)
		if (file->device == device)
			return file;
	struct device_file *file = malloc(sizeof(*file));
	if (!file)
		return NULL;
	*file = (struct device_file){ .device = device, .fd = open_named(device), .next = first };
	if (file->fd < 0) {
		free(file);
		return NULL;
	}
	pthread_setspecific(files_of_thread, file);
	return file;
}

void device_file_ring(const struct device_file *file)
{
	/* A full FIFO is readable, too. */
	ssize_t ignored = write(file->fd, "", 1);

	(void)ignored;
}

void device_file_clear(const struct device_file *file)
{
	char bytes[64];

	while (read(file->fd, bytes, sizeof(bytes)) > 0)
		;
}
