/* SPDX-License-Identifier: MIT */
#include "sim/workload/job/process_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void process_group_check(ncclResult_t result, const char *what)
{
	if (result == ncclSuccess)
		return;
	fprintf(stderr, "workload: %s: %s\n", what, ncclGetErrorString(result));
	exit(1);
}

static struct process_group *find(struct process_groups *groups, const int *members, int count)
{
	for (int i = 0; i < groups->count; i++) {
		struct process_group *group = &groups->items[i];

		if (group->size == count && !memcmp(group->members, members, count * sizeof(*members)))
			return group;
	}
	return NULL;
}

static struct process_group *add(struct process_groups *groups, const char *name, const int *members, int count)
{
	struct process_group *group = find(groups, members, count);

	if (group)
		return group;
	if (groups->count == PROCESS_GROUPS_MAX) {
		fprintf(stderr, "workload: more than %d process groups\n", PROCESS_GROUPS_MAX);
		exit(1);
	}
	group = &groups->items[groups->count];
	*group = (struct process_group){ .all = groups, .number = groups->count++, .size = count };
	snprintf(group->name, sizeof(group->name), "%s", name);
	memcpy(group->members, members, count * sizeof(*members));
	while (group->members[group->rank] != groups->rank)
		group->rank++;
	return group;
}

void process_groups_open(struct process_groups *groups, const struct mesh *mesh, int rank, struct store *store,
			 bool names)
{
	*groups = (struct process_groups){ .mesh = mesh, .store = store, .rank = rank, .names = names };
	process_groups_add(groups, "default_pg", MESH_WORLD);
}

void process_groups_close(struct process_groups *groups)
{
	for (int i = groups->count; i > 0; i--)
		if (groups->items[i - 1].comm)
			NCCL_CHECK(ncclCommDestroy(groups->items[i - 1].comm));
}

struct process_group *process_groups_add(struct process_groups *groups, const char *name, unsigned int dimensions)
{
	int members[MESH_RANKS_MAX];

	return add(groups, name, members, mesh_members(groups->mesh, dimensions, groups->rank, members));
}

struct process_group *process_groups_pair(struct process_groups *groups, int peer)
{
	int low = peer < groups->rank ? peer : groups->rank;
	int members[] = { low, peer + groups->rank - low };

	return add(groups, "pair", members, 2);
}

static void fail(const struct process_group *group, int err)
{
	fprintf(stderr, "workload: rank %d: cannot agree on NCCL's unique id of group %s: %s\n", group->all->rank,
		group->name, strerror(-err));
	exit(1);
}

/* The key is the same on all members and no other group's: its ranks are. */
static ncclUniqueId shared_id(const struct process_group *group)
{
	struct store *store = group->all->store;
	ncclUniqueId id = { 0 };
	char key[STORE_KEY_MAX];

	snprintf(key, sizeof(key), "%s/%d-%d/%d", group->name, group->members[0], group->members[group->size - 1],
		 group->size);
	if (group->rank == 0)
		NCCL_CHECK(ncclGetUniqueId(&id));
	if (group->size == 1)
		return id;
	int err = group->rank ? store_get(store, key, &id, sizeof(id)) : store_set(store, key, &id, sizeof(id));
	if (err)
		fail(group, err);
	return id;
}

static ncclConfig_t config_of(const struct process_group *group, char *name, size_t room)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

	snprintf(name, room, "%s:%d", group->name, group->number);
	if (group->all->names)
		config.commName = name;
	return config;
}

ncclComm_t process_group_comm(struct process_group *group)
{
	char name[40];

	if (!group->comm) {
		ncclConfig_t config = config_of(group, name, sizeof(name));

		ncclUniqueId id = shared_id(group);

		NCCL_CHECK(ncclCommInitRankConfig(&group->comm, group->size, id, group->rank, &config));
	}
	return group->comm;
}

void process_groups_connect(struct process_groups *groups)
{
	ncclComm_t world = process_group_comm(&groups->items[0]);

	for (int i = 1; i < groups->count; i++) {
		struct process_group *group = &groups->items[i];
		char name[40];
		ncclConfig_t config = config_of(group, name, sizeof(name));

		if (group->size > 1)
			NCCL_CHECK(ncclCommSplit(world, group->members[0], groups->rank, &group->comm, &config));
	}
}
