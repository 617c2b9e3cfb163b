/* SPDX-License-Identifier: MIT */
#include "tests/stress/stress_directory.h"

#include <dirent.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

static char directory[] = "/dev/shm/rankwatch-stress-XXXXXX";

const char *stress_directory_make(void)
{
	struct statfs system;

	if (statfs("/dev/shm", &system) || system.f_type != TMPFS_MAGIC || !mkdtemp(directory)) {
		fprintf(stderr, "skipped: /dev/shm is no tmpfs that we can write to\n");
		exit(77);
	}
	return directory;
}

void stress_directory_remove(void)
{
	DIR *entries = opendir(directory);

	for (struct dirent *entry; entries && (entry = readdir(entries));)
		unlinkat(dirfd(entries), entry->d_name, 0);
	if (entries)
		closedir(entries);
	rmdir(directory);
}

void stress_directory_create(struct box_writer *writer)
{
	struct box_request request = { .directory = directory, .job = "stress", .history_bytes = 1 };

	if (!box_writer_create(writer, &request) && *writer->path)
		return;
	fprintf(stderr, "no box in %s: %s\n", directory, writer->note);
	exit(1);
}
