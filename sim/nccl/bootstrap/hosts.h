/* SPDX-License-Identifier: MIT */
/*
 * The hosts of a communicator: which rank claims which, numbered in the order of their lowest ranks. That lowest rank
 * leads its host: it made the shared memory, and speaks for the host when all ranks of all hosts meet.
 */
#ifndef SIM_NCCL_BOOTSTRAP_HOSTS_H
#define SIM_NCCL_BOOTSTRAP_HOSTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/nccl/bootstrap/meeting.h"
#include "sim/nccl/bootstrap/segment.h"

struct hosts {
	int count, own, rank, nranks;
	struct {
		int host;  /* the rank's */
		int index; /* its place among the ranks of its host */
	} * places;
	struct {
		int leader, size;
		int socket; /* -1; between host 0's leader and every other */
	} * table;
	struct meeting_rank *ranks;
	int listener; /* for ranks of other hosts, and for whoever leads a shrink; -1 */
	ncclUniqueId id;
};

/* Meets the other ranks under the id and maps the own host's segment. Waits for all; logs why it failed. */
ncclResult_t hosts_join(struct hosts *hosts, struct segment *segment, const ncclUniqueId *id, int nranks, int rank,
			const atomic_bool *stop);
/* Accepts what hosts_join left behind when it failed, and zeroed ones. */
void hosts_leave(struct hosts *hosts);
/*
 * All ranks come here; behind it every segment holds what all of them wrote into their struct segment_rank before.
 * ncclRemoteError: another host is gone, logged; ncclInvalidUsage: *stop became true.
 */
ncclResult_t hosts_meet(struct hosts *hosts, struct segment *segment, const atomic_bool *stop);
/* The same at another gate of the segment: on one host nobody meets who comes to a different one. */
ncclResult_t hosts_meet_at(struct hosts *hosts, struct segment *segment, struct gate *gate, const atomic_bool *stop);
/* The rank of that host that a rank of another one sends its part of collectives to. */
int hosts_receiver(const struct hosts *hosts, int rank, int host);

static inline int hosts_size(const struct hosts *hosts)
{
	return hosts->table[hosts->own].size;
}

#endif
