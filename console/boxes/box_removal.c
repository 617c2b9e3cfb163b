/* SPDX-License-Identifier: MIT */
#include "console/boxes/box_removal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "blackbox/evidence.h"
#include "blackbox/run_mark.h"
#include "blackbox/saved.h"
#include "console/boxes/box_folder.h"
#include "protocol/lock.h"

static bool is_same_file(const struct box_entry *entry, int directory, const char *name, struct stat *status)
{
	return !fstatat(directory, name, status, AT_SYMLINK_NOFOLLOW) && status->st_dev == entry->reader.device &&
	       status->st_ino == entry->reader.inode;
}

/*
 * Between a look at a name and unlink(2) another file can get the name. So the file is first given one that nobody else
 * uses, that of an unfinished box (blackbox/unnamed.h): were we killed here, the next one who makes a box removes it.
 */
static int remove_in(const struct box_entry *entry, int directory, const char *name, struct stat *status)
{
	char aside[64];

	if (!is_same_file(entry, directory, name, status))
		return -EBUSY;
	snprintf(aside, sizeof(aside), ".%d-%llu.new", (int)getpid(), (unsigned long long)clock_monotonic_ns());
	if (renameat(directory, name, directory, aside))
		return -errno;
	if (is_same_file(entry, directory, aside, status))
		return unlinkat(directory, aside, 0) ? -errno : 0;
	renameat2(directory, aside, directory, name, RENAME_NOREPLACE);
	return -EBUSY;
}

int box_remove(const struct box_entry *entry, uint64_t *bytes)
{
	const char *slash = strrchr(entry->path, '/');
	struct stat status;
	int directory = box_folder_open(entry->path);

	if (directory < 0)
		return directory;
	int err = remove_in(entry, directory, slash ? slash + 1 : entry->path, &status);

	*bytes = err ? 0 : (uint64_t)status.st_blocks * 512;
	close(directory);
	return err;
}

int box_size(const struct box_entry *entry, uint64_t *bytes)
{
	struct stat status;

	if (!is_same_file(entry, AT_FDCWD, entry->path, &status))
		return -EBUSY;
	*bytes = (uint64_t)status.st_blocks * 512;
	return 0;
}

void box_remove_directory(const struct box_entry *entry)
{
	char path[PATH_MAX];
	int directory = box_folder_open(entry->path);

	if (directory < 0)
		return;
	if (!run_mark_holds_box(directory)) {
		int lock = openat(directory, LOCK_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		bool used = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB);

		if (!used) {
			run_mark_clear(directory);
			evidence_clear(directory);
		}
		if (lock >= 0 && !used)
			unlinkat(directory, LOCK_NAME, 0);
		if (box_folder_name(entry->path, path))
			rmdir(path);
		if (lock >= 0)
			close(lock);
	}
	close(directory);
}
