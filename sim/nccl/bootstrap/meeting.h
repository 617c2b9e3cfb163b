/* SPDX-License-Identifier: MIT */
/*
 * How the ranks of a communicator find each other, as in NCCL: the process that calls ncclGetUniqueId serves the unique
 * id, which carries a TCP address and a secret. A thread of it collects what every rank says of itself, sends all of it
 * to all once the last one has come, and ends. Messages cross as they lie in memory: hosts of one byte order.
 */
#ifndef SIM_NCCL_BOOTSTRAP_MEETING_H
#define SIM_NCCL_BOOTSTRAP_MEETING_H

#include <stdint.h>

#include "sim/nccl/bootstrap/socket.h"

/* What a rank says of itself. */
struct meeting_rank {
	int32_t rank, nranks;
	uint64_t host; /* as host_hash() */
	int32_t pid;   /* for ranks of the same host: its shared memory is /proc/PID/fd/MEMORY */
	int32_t memory;
	union socket_address address; /* where it listens for other ranks */
};

ncclResult_t meeting_open(ncclUniqueId *id);
/* The id will not be used: the thread that serves it ends. */
void meeting_dismiss(const ncclUniqueId *id);
/*
 * ranks[rank] is filled in by the caller; waits until all nranks have come and fills in the others. Logs why it failed;
 * ncclRemoteError: who serves the id has gone.
 */
ncclResult_t meeting_join(const ncclUniqueId *id, struct meeting_rank *ranks, int nranks, int rank,
			  const atomic_bool *stop);
/* Connects to where a rank listens and says who calls; *fd is the caller's. */
ncclResult_t meeting_call(int *fd, const ncclUniqueId *id, const struct meeting_rank *callee, int caller,
			  const atomic_bool *stop);
/* The next rank that calls; strangers are turned away. Waits 60 s at most, logged. */
ncclResult_t meeting_answer(int *fd, const ncclUniqueId *id, int listener, int *caller, const atomic_bool *stop);
/* The number that profilers know the communicator of this id by. */
uint64_t meeting_hash(const void *bytes, size_t size, uint64_t seed);

#endif
