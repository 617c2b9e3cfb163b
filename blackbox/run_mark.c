/* SPDX-License-Identifier: MIT */
#include "blackbox/run_mark.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blackbox/saved.h"

static const char *const names[RUN_MARKS] = {
	[RUN_MARK_FINDINGS] = "run.findings",
	[RUN_MARK_FAILED] = "run.failed",
	[RUN_MARK_KEPT] = "run.kept",
};

static int open_own(const char *directory)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &status) && status.st_uid == geteuid())
		return fd;
	close(fd);
	return -EPERM;
}

bool run_mark_holds_box(int directory)
{
	int twin = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = twin < 0 ? NULL : fdopendir(twin);
	bool found = false;

	if (!entries) {
		if (twin >= 0)
			close(twin);
		return true;
	}
	for (const struct dirent *one; !found && (one = readdir(entries));)
		found = box_is_name(one->d_name);
	closedir(entries);
	return found;
}

int run_mark_leave(const char *directory, enum run_mark mark)
{
	int place = open_own(directory);

	if (place < 0)
		return place;
	if (!run_mark_holds_box(place)) {
		close(place);
		return -ENOENT;
	}
	/* O_NONBLOCK: whatever lies there under this name, it is not waited for. */
	int fd = openat(place, names[mark], O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	int err = fd < 0 || futimens(fd, NULL) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	close(place);
	return err;
}

int64_t run_mark_time_ns(const char *directory, enum run_mark mark)
{
	int place = open_own(directory);
	struct stat status;
	int64_t found = 0;

	if (place < 0)
		return 0;
	if (!fstatat(place, names[mark], &status, AT_SYMLINK_NOFOLLOW) && S_ISREG(status.st_mode))
		found = status.st_mtim.tv_sec * INT64_C(1000000000) + status.st_mtim.tv_nsec;
	close(place);
	return found;
}

void run_mark_clear(int directory)
{
	for (int mark = 0; mark < RUN_MARKS; mark++)
		unlinkat(directory, names[mark], 0);
}
