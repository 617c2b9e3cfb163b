/* SPDX-License-Identifier: MIT */
/*
 * Who has come to the init (ncclCommInitRank and its kin) of each communicator that is being made, and which ranks are
 * missing there. NCCL has not reported who the communicator's ranks are. Each rank that has come shows its place and
 * their number, and what follows from these is in docs/analysis.md, "Init". A split (ncclCommSplit) awaits all ranks of
 * the communicator that it splits, and these are known.
 */
#ifndef ANALYSIS_HANG_GATHERINGS_H
#define ANALYSIS_HANG_GATHERINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/known/job.h"

/* A rank in an init, as one host's job or the hosts' messages show it. */
struct comer {
	uint64_t id, since_ns;
	int32_t rank, size; /* its rank in the communicator, and how many that has */
	int32_t world_rank, world_size;
	uint32_t index; /* the caller's, for the one that came first */
	uint32_t call; /* enum rw_init_call */
	bool split, unclear; /* unclear: of a split, whose parent is to be known and is not */
	const struct communicator *parent; /* of a split, where it is known … */
	uint64_t splits;                   /* … and how many the rank has been through: struct member */
};

/* Ranks are those of the world, ascending. */
struct gathering {
	uint64_t id, begun_ns, since_ns; /* when the first and when the last of them had come */
	int32_t size;
	uint32_t call; /* enum rw_init_call */
	bool split;
	const struct communicator *parent; /* of a split, where it is known; else NULL */
	bool certain; /* who the others are is not inferred: the whole world's, or those of the parent */
	bool early; /* more are missing than have come */
	uint32_t first; /* the index of the one that came first */
	uint32_t present_count, missing_count;
	const int32_t *present;
	const int32_t *missing; /* as far as they are known */
};

struct gatherings {
	struct gathering *items; /* the one that began first comes first */
	uint32_t count;
	int32_t *present, *missing; /* of all of them */
	int32_t *waiting; /* those that wait, here or in an operation, by their world rank */
	uint32_t waiting_count;
};

/* The process's place in the communicator that it is splitting; NULL: it splits none, or one that is not known here. */
const struct member *gatherings_parent(const struct process *process, const struct communicator **parent);
/* Takes the gatherings of a job where a rank is missing. Empty: there is none. ended_too: if no process is in an init,
 * those count that were in one when they ended. The index is that of a process. gatherings_free() frees it, and is not
 * needed after an error. Returns 0 or -ENOMEM. */
int gatherings_look(struct gatherings *gatherings, const struct job *job, bool ended_too);
/* The same from those who have come, which are sorted. Who waits in an operation is still to be added. */
int gatherings_find(struct gatherings *gatherings, struct comer *comers, uint32_t count);
/* Adds ranks that wait elsewhere. Returns 0 or -ENOMEM; gatherings_free() is needed. */
int gatherings_add_waiting(struct gatherings *gatherings, const int32_t *world_ranks, uint32_t count);
void gatherings_free(struct gatherings *gatherings);
/* Whether the rank waits itself, in the init of another communicator or in an operation. Others may wait for it, but
 * for it to go on. */
bool gatherings_waits(const struct gatherings *gatherings, int32_t world_rank);
/* The first one that is not early and in which the rank is missing; NULL: none. */
const struct gathering *gatherings_without(const struct gatherings *gatherings, int32_t world_rank);
/* The one of that init; NULL: none. */
const struct gathering *gatherings_of(const struct gatherings *gatherings, uint64_t id);

#endif
