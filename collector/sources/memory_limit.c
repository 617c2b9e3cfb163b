/* SPDX-License-Identifier: MIT */
#include "collector/sources/memory_limit.h"

#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 1024 };

/* What the two versions call things. Held is the sum of what can only be swapped: no page cache. */
struct version {
	const char *limit, *held[2];
	uint64_t (*hits)(const char *directory);
};

static const struct version v1, v2;

/* Charges come in batches of pages, so usage seldom is exactly the limit. */
static const double full_share = 0.99;

/* Where the groups of the memory controller are mounted, and this process's path there. */
struct place {
	const struct version *version;
	char mount[PATH_ROOM / 2], path[PATH_ROOM];
};

static FILE *open_file(const char *directory, const char *name)
{
	char path[PATH_ROOM + 64];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return fopen(path, "re");
}

/* A version 1 hierarchy with the memory controller, else version 2. */
static int find_mount(const char *root, struct place *place)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "%s/proc/self/mounts", root);
	FILE *mounts = setmntent(path, "re");

	for (struct mntent *mount = mounts ? getmntent(mounts) : NULL; mount; mount = getmntent(mounts)) {
		bool first = !strcmp(mount->mnt_type, "cgroup") && hasmntopt(mount, "memory");

		if (!first && (strcmp(mount->mnt_type, "cgroup2") || place->version))
			continue;
		place->version = first ? &v1 : &v2;
		snprintf(place->mount, sizeof(place->mount), "%s%s", root, mount->mnt_dir);
		if (first)
			break;
	}
	if (mounts)
		endmntent(mounts);
	return place->version ? 0 : -ENOENT;
}

static bool has_memory(char *controllers)
{
	for (char *rest, *name = strtok_r(controllers, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
		if (!strcmp(name, "memory"))
			return true;
	return false;
}

/* "4:memory:/a/b", or "0::/a/b" of version 2 */
static int find_path(const char *root, pid_t pid, struct place *place)
{
	char path[PATH_ROOM], line[PATH_ROOM];
	int err = -ENOENT;

	snprintf(path, sizeof(path), "%s/proc/%d/cgroup", root, (int)pid);
	FILE *groups = fopen(path, "re");

	while (groups && err && fgets(line, sizeof(line), groups)) {
		char *controllers = strchr(line, ':'), *own = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!own)
			continue;
		*own++ = '\0';
		own[strcspn(own, "\n")] = '\0';
		if (place->version == &v2 ? controllers[1] != '\0' : !has_memory(controllers + 1))
			continue;
		snprintf(place->path, sizeof(place->path), "%s%s", place->mount, strcmp(own, "/") ? own : "");
		/* A path of the host's, seen from a container: that is not ours to guess. */
		err = strstr(own, "/..") || access(place->path, F_OK) ? -ENOENT : 0;
	}
	if (groups)
		fclose(groups);
	return err;
}

/* The file's only number; "max" and what version 1 shows without a limit: 0. */
static uint64_t read_number(const char *directory, const char *name)
{
	FILE *file = open_file(directory, name);
	unsigned long long number = 0;

	if (file && fscanf(file, "%llu", &number) != 1)
		number = 0;
	if (file)
		fclose(file);
	return number >= UINT64_C(1) << 60 ? 0 : number;
}

/* Of "name number" lines. */
static uint64_t read_named(const char *directory, const char *file_name, const char *wanted)
{
	FILE *file = open_file(directory, file_name);
	unsigned long long number, found = 0;
	char name[64];

	while (file && fscanf(file, "%63s %llu", name, &number) == 2)
		if (!strcmp(name, wanted))
			found = number;
	if (file)
		fclose(file);
	return found;
}

/* Without swap both limits are the same, and only the second counts. */
static uint64_t v1_hits(const char *directory)
{
	return read_number(directory, "memory.failcnt") + read_number(directory, "memory.memsw.failcnt");
}

static uint64_t v2_hits(const char *directory)
{
	return read_named(directory, "memory.events", "max");
}

static const struct version v1 = { "memory.limit_in_bytes", { "total_rss", "total_shmem" }, v1_hits };
static const struct version v2 = { "memory.max", { "anon", "shmem" }, v2_hits };

static void read_level(const struct version *version, const char *directory, struct analysis_memory_state *state)
{
	uint64_t limit = read_number(directory, version->limit), held = 0;
	struct stat status;

	if (!limit || stat(directory, &status))
		return;
	for (size_t i = 0; i < sizeof(version->held) / sizeof(*version->held); i++)
		held += read_named(directory, "memory.stat", version->held[i]);
	if (state->limit && (double)held / (double)limit <= (double)state->held / (double)state->limit)
		return;
	state->limit = limit;
	state->held = held;
	state->group = status.st_ino;
	state->hits = version->hits(directory);
	state->full = version == &v1 &&
		      (double)read_number(directory, "memory.usage_in_bytes") >= full_share * (double)limit;
}

int memory_limit_read(const char *root, pid_t pid, struct analysis_memory_state *state)
{
	struct place place = { 0 };
	int err = find_mount(root, &place);

	if (!err)
		err = find_path(root, pid, &place);
	if (err)
		return err;
	state->limit = state->held = state->hits = state->group = 0;
	for (size_t mount = strlen(place.mount); strlen(place.path) >= mount;) {
		read_level(place.version, place.path, state);
		char *last = strrchr(place.path, '/');
		if (!last || last < place.path + mount)
			break;
		*last = '\0';
	}
	return state->limit ? 0 : -ENOENT;
}
