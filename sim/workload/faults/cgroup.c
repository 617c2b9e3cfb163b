/* SPDX-License-Identifier: MIT */
#include "sim/workload/faults/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <mntent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char prefix[] = "rankwatch-workload-";

static int set_file(const char *directory, const char *name, const char *value)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int err = write(fd, value, strlen(value)) < 0 ? -errno : 0;
	close(fd);
	return err;
}

static int set_number(const struct cgroup *group, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return set_file(group->path, name, text);
}

/* Where the controller is mounted (version 1), else where version 2 is. */
static bool find_mount(const char *controller, char *path, size_t size, bool *v2)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	bool found = false, v1 = false;

	for (struct mntent *mount = mounts ? getmntent(mounts) : NULL; mount && !v1; mount = getmntent(mounts)) {
		v1 = !strcmp(mount->mnt_type, "cgroup") && hasmntopt(mount, controller);
		if (!v1 && strcmp(mount->mnt_type, "cgroup2"))
			continue;
		snprintf(path, size, "%s", mount->mnt_dir);
		*v2 = !v1;
		found = true;
	}
	if (mounts)
		endmntent(mounts);
	return found;
}

static bool lists(const char *names, size_t length, const char *controller)
{
	size_t size = strlen(controller);

	for (const char *at = names; at + size <= names + length; at++)
		if (!strncmp(at, controller, size) && (at == names || at[-1] == ',') &&
		    (at + size == names + length || at[size] == ','))
			return true;
	return false;
}

/* Appends the group that this process is in: "ID:CONTROLLERS:/PATH"; version 2's line has no controllers. */
static void append_own(char *path, size_t size, const char *controller, bool v2)
{
	FILE *groups = fopen("/proc/self/cgroup", "re");
	char line[512], with_own[1024], *group;

	while (groups && fgets(line, sizeof(line), groups)) {
		char *names = strchr(line, ':'), *own = names ? strchr(names + 1, ':') : NULL;

		line[strcspn(line, "\n")] = '\0';
		if (!own || (v2 ? own != names + 1 : !lists(names + 1, own - names - 1, controller)))
			continue;
		snprintf(with_own, sizeof(with_own), "%s%s", path, own + 1);
		/* In a container the path may be one of the host's. */
		if (!own[2] || access(with_own, F_OK))
			break;
		group = v2 ? dirname(with_own) : with_own;
		if (strlen(group) < size)
			memcpy(path, group, strlen(group) + 1);
		break;
	}
	if (groups)
		fclose(groups);
}

/* The directory in which groups for this controller are made. */
static int find_base(const char *controller, char *path, size_t size, bool *v2)
{
	char enable[32];

	*path = '\0';
	if (!find_mount(controller, path, size, v2))
		return -ENOENT;
	append_own(path, size, controller, *v2);
	if (!*v2)
		return 0;
	snprintf(enable, sizeof(enable), "+%s", controller);
	return set_file(path, "cgroup.subtree_control", enable);
}

int cgroup_make(struct cgroup *group, const char *controller, pid_t owner, bool thread)
{
	char base[400];
	int err = find_base(controller, base, sizeof(base), &group->v2);

	group->thread = thread;
	snprintf(group->path, sizeof(group->path), "%s/%s%d", base, prefix, (int)owner);
	if (err || (mkdir(group->path, 0755) && errno != EEXIST))
		return err ? err : -errno;
	/* A thread of its own in version 2: the process moves as well, and the thread into a group below. */
	if (!thread || !group->v2)
		return 0;
	err = set_number(group, "cgroup.procs", getpid());
	strncat(group->path, "/thread", sizeof(group->path) - strlen(group->path) - 1);
	if (!err && mkdir(group->path, 0755) && errno != EEXIST)
		err = -errno;
	if (!err)
		err = set_file(group->path, "cgroup.type", "threaded");
	return err ? err : set_file(group->path, "../cgroup.subtree_control", "+cpu");
}

int cgroup_enter(const struct cgroup *group)
{
	if (!group->thread)
		return set_number(group, "cgroup.procs", getpid());
	return set_number(group, group->v2 ? "cgroup.threads" : "tasks", syscall(SYS_gettid));
}

int cgroup_limit_cpu(const struct cgroup *group, unsigned int us, unsigned int period_us)
{
	char text[32];

	if (group->v2) {
		snprintf(text, sizeof(text), "%u %u", us, period_us);
		return set_file(group->path, "cpu.max", text);
	}
	int err = set_number(group, "cpu.cfs_period_us", period_us);
	return err ? err : set_number(group, "cpu.cfs_quota_us", us);
}

int cgroup_limit_memory(const struct cgroup *group, size_t bytes, size_t swap_bytes)
{
	int err = set_number(group, group->v2 ? "memory.max" : "memory.limit_in_bytes", bytes);

	if (err)
		return err;
	if (group->v2)
		return set_number(group, "memory.swap.max", swap_bytes);
	err = set_number(group, "memory.memsw.limit_in_bytes", bytes + swap_bytes);
	/* Not there where swap is not accounted for: then nothing of the group may be swapped. */
	if (err == -ENOENT && !swap_bytes)
		err = set_number(group, "memory.swappiness", 0);
	return err;
}

static void remove_group(const char *base, const char *name)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s/thread", base, name);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/%s", base, name);
	rmdir(path);
}

/* Not kill(2): who inherits a killed launcher's ranks may be slow to reap them. Zombies have no command line. */
static bool has_ended(int pid)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	FILE *line = fopen(path, "re");
	bool ended = line ? fgetc(line) == EOF : errno == ENOENT;
	if (line)
		fclose(line);
	return ended;
}

void cgroup_tidy(const char *controller)
{
	char base[400];
	bool v2;

	if (find_base(controller, base, sizeof(base), &v2))
		return;
	DIR *groups = opendir(base);
	for (struct dirent *group = groups ? readdir(groups) : NULL; group; group = readdir(groups)) {
		if (strncmp(group->d_name, prefix, sizeof(prefix) - 1))
			continue;
		int owner = atoi(group->d_name + sizeof(prefix) - 1);

		if (owner == getpid() || has_ended(owner))
			remove_group(base, group->d_name);
	}
	if (groups)
		closedir(groups);
}

int cgroup_check(const char *controller, char *reason, size_t size)
{
	struct cgroup group;

	cgroup_tidy(controller);
	int err = cgroup_make(&group, controller, getpid(), false);
	if (err)
		snprintf(reason, size, "cannot make a cgroup with the %s controller (%s): %s", controller, group.path,
			 strerror(-err));
	else
		rmdir(group.path);
	return err;
}
