/* SPDX-License-Identifier: MIT */
/*
 * Groups of ranks and their communicators, as PyTorch's ProcessGroupNCCL makes them: lazily, at a group's first
 * collective, from a unique id that its first rank puts into the store; or eagerly (init_process_group with a
 * device_id) by splitting the world's communicator. Groups of the same ranks are one group, as a DeviceMesh of one
 * dimension reuses the default group.
 */
#ifndef SIM_WORKLOAD_JOB_PROCESS_GROUP_H
#define SIM_WORKLOAD_JOB_PROCESS_GROUP_H

#include <stdbool.h>

#include <nccl.h>

#include "sim/workload/job/mesh.h"
#include "sim/workload/job/store.h"

enum { PROCESS_GROUPS_MAX = 16 + MESH_RANKS_MAX };

struct process_groups;

struct process_group {
	struct process_groups *all;
	char name[24];
	int number; /* in order of making */
	int size, rank;
	int members[MESH_RANKS_MAX]; /* ranks of the world, ascending */
	ncclComm_t comm;	     /* NULL until it is needed */
};

struct process_groups {
	const struct mesh *mesh;
	struct store *store; /* not ours */
	int rank;
	bool names; /* given to NCCL, as PyTorch does since August 2026 */
	int count;
	struct process_group items[PROCESS_GROUPS_MAX];
};

/* Makes the first group: the world. */
void process_groups_open(struct process_groups *groups, const struct mesh *mesh, int rank, struct store *store,
			 bool names);
void process_groups_close(struct process_groups *groups);

/* The group of this rank along the dimensions. All ranks add the same groups in the same order. */
struct process_group *process_groups_add(struct process_groups *groups, const char *name, unsigned int dimensions);
/* This rank and another one: plain send and recv. */
struct process_group *process_groups_pair(struct process_groups *groups, int peer);
/* Makes the communicators of all groups so far. */
void process_groups_connect(struct process_groups *groups);

/* Its communicator; waits for the group's other ranks when it has to be made. Not between ncclGroupStart and End. */
ncclComm_t process_group_comm(struct process_group *group);

/* Prints what failed and ends the process, as an exception of PyTorch's does. */
void process_group_check(ncclResult_t result, const char *what);
#define NCCL_CHECK(call) process_group_check((call), #call)

#endif
