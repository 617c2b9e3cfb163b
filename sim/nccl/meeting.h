/* SPDX-License-Identifier: MIT */
/*
 * How the ranks of a communicator find each other. The process that calls ncclGetUniqueId serves the unique id, as in
 * NCCL: a thread of it listens on an abstract Unix socket named by the id, makes the shared memory when the first rank
 * comes, hands it to every rank, and ends when all have it.
 */
#ifndef SIM_NCCL_MEETING_H
#define SIM_NCCL_MEETING_H

#include <stdint.h>

#include "segment.h"

ncclResult_t meeting_open(ncclUniqueId *id);
/* Joins as one of nranks and maps the shared memory. Does not wait for the others. */
ncclResult_t meeting_join(struct segment *segment, const ncclUniqueId *id, int nranks, int rank);
/* The number that profilers know the communicator of this id by. */
uint64_t meeting_hash(const void *bytes, size_t size, uint64_t seed);

#endif
