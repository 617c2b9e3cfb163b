/* SPDX-License-Identifier: MIT */
#include "sim/workload/host/data_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIECE = 64 << 10, PAGE = 4096, STRIDE = 97 /* prime: reaches each page once */ };

struct data_file {
	int fd;
	size_t bytes;
	volatile const char *mapping;
};

static int fill(struct data_file *file)
{
	char piece[PIECE];

	memset(piece, 7, sizeof(piece));
	for (size_t at = 0; at < file->bytes; at += PIECE)
		if (pwrite(file->fd, piece, PIECE, at) != PIECE)
			return -errno;
	return fsync(file->fd) ? -errno : 0;
}

static int prepare(struct data_file *file, const char *dir)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/train.bin", dir);
	file->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file->fd < 0)
		return -errno;
	int err = fill(file);
	if (err)
		return err;
	void *mapping = mmap(NULL, file->bytes, PROT_READ, MAP_SHARED, file->fd, 0);
	if (mapping == MAP_FAILED)
		return -errno;
	madvise(mapping, file->bytes, MADV_RANDOM);
	file->mapping = mapping;
	return 0;
}

int data_file_create(struct data_file **file, const char *dir, size_t bytes)
{
	struct data_file *created = calloc(1, sizeof(*created));

	*file = created;
	if (!created)
		return -ENOMEM;
	*created = (struct data_file){ .fd = -1, .bytes = (bytes + PIECE - 1) / PIECE * PIECE };
	int err = prepare(created, dir);
	if (err) {
		data_file_close(created);
		*file = NULL;
	}
	return err;
}

void data_file_close(struct data_file *file)
{
	if (!file)
		return;
	if (file->mapping)
		munmap((void *)file->mapping, file->bytes);
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}

void data_file_forget(struct data_file *file)
{
	/* What is mapped is not dropped. */
	madvise((void *)file->mapping, file->bytes, MADV_DONTNEED);
	posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
}

void data_file_read(struct data_file *file)
{
	char piece[PIECE];

	for (size_t at = 0; at < file->bytes; at += PIECE) {
		if (pread(file->fd, piece, PIECE, at) == PIECE)
			continue;
		perror("workload: training data");
		exit(1);
	}
}

void data_file_touch(struct data_file *file)
{
	size_t pages = file->bytes / PAGE;

	for (size_t i = 0; i < pages; i++)
		(void)file->mapping[i * STRIDE % pages * PAGE];
}
