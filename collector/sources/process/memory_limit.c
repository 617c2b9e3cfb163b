/* SPDX-License-Identifier: MIT */
#include "collector/sources/process/memory_limit.h"

#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PATH_ROOM = 1024,
	GROUPS = 64 /* of one round; what is more is read each time */,
	MOUNT_ROUNDS = 30 /* that it is kept */
};

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

/* One group, as it was read in this round. */
struct group {
	char path[PATH_ROOM];
	bool is_limited;
	struct analysis_memory_state state; /* limit, held, hits, full, group; where it is limited */
};

struct memory_round {
	unsigned mount_rounds; /* that it is good for; 0: to be looked up */
	int mount_err;
	struct place place; /* without the path */
	struct group groups[GROUPS];
	size_t count;
};

struct memory_round *memory_round_new(void)
{
	return calloc(1, sizeof(struct memory_round));
}

void memory_round_free(struct memory_round *round)
{
	free(round);
}

void memory_round_begin(struct memory_round *round)
{
	if (!round)
		return;
	round->mount_rounds -= round->mount_rounds > 0;
	round->count = 0;
}

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

static bool read_group(const struct version *version, const char *directory, struct analysis_memory_state *state)
{
	struct stat status;

	*state = (struct analysis_memory_state){ .limit = read_number(directory, version->limit) };
	if (!state->limit || stat(directory, &status))
		return false;
	for (size_t i = 0; i < sizeof(version->held) / sizeof(*version->held); i++)
		state->held += read_named(directory, "memory.stat", version->held[i]);
	state->group = status.st_ino;
	state->hits = version->hits(directory);
	state->full = version == &v1 &&
		      (double)read_number(directory, "memory.usage_in_bytes") >= full_share * (double)state->limit;
	return true;
}

/* Of a round that has not read it yet, a place to keep it in; without one, or room in it, `once`. */
static const struct group *group_of(struct memory_round *round, const struct place *place, struct group *once)
{
	struct group *group = round && round->count < GROUPS ? &round->groups[round->count] : once;

	for (size_t i = 0; round && i < round->count; i++)
		if (!strcmp(round->groups[i].path, place->path))
			return &round->groups[i];
	memcpy(group->path, place->path, sizeof(group->path));
	group->is_limited = read_group(place->version, place->path, &group->state);
	if (group != once)
		round->count++;
	return group;
}

static bool is_nearer(const struct analysis_memory_state *a, const struct analysis_memory_state *b)
{
	return !b->limit || (double)a->held / (double)a->limit > (double)b->held / (double)b->limit;
}

static int find_mount_once(struct memory_round *round, const char *root, struct place *place)
{
	*place = (struct place){ 0 };
	if (!round)
		return find_mount(root, place);
	if (!round->mount_rounds) {
		round->place = (struct place){ 0 };
		round->mount_err = find_mount(root, &round->place);
		round->mount_rounds = round->mount_err ? 1 : MOUNT_ROUNDS;
	}
	*place = round->place;
	return round->mount_err;
}

static void take_group(const struct group *group, struct analysis_memory_state *state)
{
	if (!group->is_limited || !is_nearer(&group->state, state))
		return;
	state->limit = group->state.limit;
	state->held = group->state.held;
	state->hits = group->state.hits;
	state->full = group->state.full;
	state->group = group->state.group;
}

int memory_limit_read(struct memory_round *round, const char *root, pid_t pid, struct analysis_memory_state *state)
{
	struct group once;
	struct place place;
	int err = find_mount_once(round, root, &place);

	if (!err)
		err = find_path(root, pid, &place);
	if (err)
		return err;
	state->limit = state->held = state->hits = state->group = 0;
	for (size_t mount = strlen(place.mount); strlen(place.path) >= mount;) {
		take_group(group_of(round, &place, &once), state);
		char *last = strrchr(place.path, '/');
		if (!last || last < place.path + mount)
			break;
		*last = '\0';
	}
	return state->limit ? 0 : -ENOENT;
}
