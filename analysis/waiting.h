/* SPDX-License-Identifier: MIT */
/* Who waits for whom right now, over all communicators. */
#ifndef ANALYSIS_WAITING_H
#define ANALYSIS_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/instances.h"
#include "analysis/job.h"

/* An unfinished instance in which somebody stands and waits. */
struct standing {
	const struct instance *instance;
	uint64_t since_ns; /* when the last of those who wait had come */
	uint32_t waiters, missing;
};

struct waiting {
	struct standing *standings;
	size_t count, room;
	bool *blocked; /* by rank: waits in some instance */
};

/* 0 or -ENOMEM. */
int waiting_look(struct waiting *waiting, const struct job *job);
/* Is the member inside NCCL with it, before its launch, with nothing else in its way? Then it waits for its peers. */
bool waiting_connects(const struct instance *instance, uint32_t member);
/* Does the member stand in this instance and wait (alive, arrived or connecting, not done)? */
bool waiting_stands(const struct instance *instance, uint32_t member);
/* Needed, and not there: not joined, not arrived, or there but stopped or dead. */
bool waiting_misses(const struct instance *instance, uint32_t member);
/* Missing, and not because it waits itself for somebody else. */
bool waiting_is_root(const struct waiting *waiting, const struct standing *standing, uint32_t member);
/* Whose watchdog ends first of those who wait, the given rank left out; NULL: no watchdog of theirs is known. */
const struct process *waiting_watchdog(const struct waiting *waiting, const struct job *job, uint32_t except);
void waiting_free(struct waiting *waiting);

#endif
