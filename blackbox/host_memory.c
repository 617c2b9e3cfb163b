/* SPDX-License-Identifier: MIT */
#include "blackbox/host_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	TEXT = 8192, /* memory.stat has 2 KiB today, /proc/self/cgroup of a pod under version 1 about 3 */
	PATH = 2048,
};

#define NO_LIMIT (UINT64_C(1) << 60) /* version 1 shows no limit as a number near 2^63 */

/* What the two versions of control groups call things. */
struct version {
	const char *mount;     /* where every distribution and container runtime has it */
	const char *limits[2]; /* NULL: has one only */
	const char *usage;
	const char
	    *cache[2]; /* in memory.stat: pages of files, which the kernel takes back; shared memory is in neither */
};

static const struct version v1 = {
	.mount = "/sys/fs/cgroup/memory",
	.limits = { "memory.limit_in_bytes" },
	.usage = "memory.usage_in_bytes",
	.cache = { "total_inactive_file", "total_active_file" },
};

static const struct version v2 = {
	.mount = "/sys/fs/cgroup",
	.limits = { "memory.max", "memory.high" },
	.usage = "memory.current",
	.cache = { "inactive_file", "active_file" },
};

/* A process's group: `path` begins with the mount point, which has the first `top` characters. */
struct group {
	const struct version *version; /* NULL: not known */
	char path[PATH];
	size_t top;
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The beginning of the file; "" when it cannot be read. O_NONBLOCK: whatever lies there, it is not waited for. */
static void read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	size_t used = 0;
	ssize_t got;

	while (fd >= 0 && used < size - 1) {
		got = read(fd, text + used, size - 1 - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	text[used] = '\0';
	if (fd >= 0)
		close(fd);
}

static void read_file(const char *directory, const char *name, char *text, size_t size)
{
	char path[PATH + 64];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	read_text(path, text, size);
}

/* The file's only number; UINT64_MAX: "max", what version 1 shows without a limit, or no such file. */
static uint64_t read_number(const char *directory, const char *name)
{
	char text[64], *end;

	read_file(directory, name, text, sizeof(text));
	unsigned long long number = strtoull(text, &end, 10);

	return end == text || number >= NO_LIMIT ? UINT64_MAX : number;
}

/* Of lines "name number" or "name: number"; UINT64_MAX when there is none. */
static uint64_t find_named(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
		if (!strncmp(line, name, length) && (line[length] == ' ' || line[length] == ':'))
			return strtoull(line + length + 1, NULL, 10);
	return UINT64_MAX;
}

static uint64_t read_meminfo(const char *root, const char *name)
{
	char text[TEXT];

	read_file(root, "proc/meminfo", text, sizeof(text));
	uint64_t kib = find_named(text, name);

	return kib >= NO_LIMIT ? UINT64_MAX : kib * 1024;
}

static bool has_memory(const char *controllers, size_t length)
{
	static const char name[] = "memory";
	const char *end = controllers + length;

	while (controllers < end) {
		size_t one = strcspn(controllers, ",:");

		if (one == sizeof(name) - 1 && !strncmp(controllers, name, one))
			return true;
		controllers += one + 1;
	}
	return false;
}

static void set_group(struct group *group, const struct version *version, const char *root, const char *own,
		      size_t length)
{
	/* Outside what this cgroup namespace shows: the top of the mount is the nearest that can be read. */
	bool outside = !strncmp(own, "/..", 3) || length == 1;

	group->version = version;
	snprintf(group->path, PATH, "%s%s%.*s", root, version->mount, outside ? 0 : (int)length, own);
	group->top = strlen(root) + strlen(version->mount);
}

/* Of lines "4:memory:/a/b", or "0::/a/b" of version 2, which counts where version 1 does not have the memory. */
static void find_group(const char *root, struct group *group)
{
	char text[TEXT];

	group->version = NULL;
	read_file(root, "proc/self/cgroup", text, sizeof(text));
	for (const char *line = text, *next; *line; line = next) {
		size_t length = strcspn(line, "\n");
		const char *controllers = memchr(line, ':', length);
		const char *own =
		    controllers ? memchr(controllers + 1, ':', length - (size_t)(controllers + 1 - line)) : NULL;

		next = line + length + (line[length] == '\n');
		if (!own)
			continue;
		size_t path_length = length - (size_t)(own + 1 - line);

		if (own == controllers + 1) {
			set_group(group, &v2, root, own + 1, path_length);
		} else if (has_memory(controllers + 1, (size_t)(own - controllers - 1))) {
			set_group(group, &v1, root, own + 1, path_length);
			return;
		}
	}
}

/* One level up; false at the top. */
static bool to_parent(struct group *group)
{
	char *last = strrchr(group->path, '/');

	if (!last || last < group->path + group->top)
		return false;
	*last = '\0';
	return true;
}

static uint64_t limit_of(const struct group *group)
{
	uint64_t limit = UINT64_MAX;

	for (size_t i = 0; i < sizeof(group->version->limits) / sizeof(*group->version->limits); i++)
		if (group->version->limits[i])
			limit = least(limit, read_number(group->path, group->version->limits[i]));
	return limit;
}

static uint64_t left_of(const struct group *group)
{
	uint64_t limit = limit_of(group), used, cache = 0;
	char text[TEXT];

	if (limit == UINT64_MAX)
		return limit;
	used = read_number(group->path, group->version->usage);
	read_file(group->path, "memory.stat", text, sizeof(text));
	for (size_t i = 0; i < sizeof(group->version->cache) / sizeof(*group->version->cache); i++) {
		uint64_t pages = find_named(text, group->version->cache[i]);

		cache += pages == UINT64_MAX ? 0 : pages;
	}
	used = used == UINT64_MAX ? 0 : used;
	used = used > cache ? used - cache : 0;
	return limit > used ? limit - used : 0;
}

/* The least of all levels. A level that is not there (the path of a host, seen from a container) has no limit. */
static uint64_t least_of_groups(const char *root, uint64_t (*number)(const struct group *))
{
	struct group group;
	uint64_t found = UINT64_MAX;

	find_group(root, &group);
	if (!group.version)
		return found;
	do
		found = least(found, number(&group));
	while (to_parent(&group));
	return found;
}

uint64_t host_memory_total(const char *root)
{
	return least(read_meminfo(root, "MemTotal"), least_of_groups(root, limit_of));
}

uint64_t host_memory_left(const char *root)
{
	return least(read_meminfo(root, "MemAvailable"), least_of_groups(root, left_of));
}
