/* SPDX-License-Identifier: MIT */
/* Which ranks wait for which others right now, over all communicators. */
#ifndef ANALYSIS_MEASURE_WAITING_H
#define ANALYSIS_MEASURE_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/known/instances.h"
#include "analysis/known/job.h"

/* An unfinished instance in which some rank waits. */
struct standing {
	const struct instance *instance;
	uint64_t since_ns; /* when the last of the waiting ranks arrived, or when the caller went on if that is later */
	uint32_t waiters, missing;
};

struct waiting {
	struct standing *standings;
	size_t count, room;
	bool *blocked; /* by rank: it waits in some instance, or in an init */
};

/* Fills *waiting; waiting_free() frees it. Returns 0 or -ENOMEM. */
int waiting_look(struct waiting *waiting, const struct job *job);
/* Whether the member is inside NCCL with this instance before its launch, and nothing else holds it up. Then it waits
 * for its peers. */
bool waiting_connects(const struct instance *instance, uint32_t member);
/* Whether the member waits in this instance (alive, arrived or connecting, not done). */
bool waiting_stands(const struct instance *instance, uint32_t member);
/* Whether its GPU has something before it that it has not even reached. */
bool waiting_is_held_up_by_gpu(const struct process *process, uint32_t rank);
/* Whether its GPU is in an operation that all others have ended, so that it waits for none of them. */
bool waiting_is_left_behind(const struct process *process, uint32_t rank);
/* Of a transfer: one of its two ends stands in another transfer of the communicator, too, to which the other end of
 * that one has not come. What was called in one group ends together, so this one waits for that Send or Recv. */
bool waiting_is_tied(const struct instance *instance);
/* Whether the member's GPU has not come there, and may stand in an operation before it, of which nobody follows where
 * the GPU is: another rank may hold it up there. */
bool waiting_may_stand_before(const struct instance *instance, uint32_t member);
/* Whether the member is needed and missing: not joined, not arrived, or arrived but stopped or dead. */
bool waiting_misses(const struct instance *instance, uint32_t member);
/* Whether the member is missing, and not because it waits for another rank itself. */
bool waiting_is_root(const struct waiting *waiting, const struct standing *standing, uint32_t member);
/* The waiting process, other than the given rank's, whose watchdog ends first; NULL: no watchdog of theirs is known. */
const struct process *waiting_watchdog(const struct waiting *waiting, const struct job *job, uint32_t except);
void waiting_free(struct waiting *waiting);

#endif
