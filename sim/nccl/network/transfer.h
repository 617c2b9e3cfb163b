/* SPDX-License-Identifier: MIT */
/*
 * What one task sends to or receives from one rank of another host, as the progress thread drives it: NCCL's proxy
 * operation. Its steps go through the states that profilers hear of.
 */
#ifndef SIM_NCCL_NETWORK_TRANSFER_H
#define SIM_NCCL_NETWORK_TRANSFER_H

#include "sim/nccl/network/wire.h"
#include "sim/nccl/profiler/profiler_network.h"

struct transfer {
	struct transfer *next;
	unsigned int order; /* among what was posted; equal for those of one batch of works */
	struct ncclComm *comm;
	struct wire *wire; /* NULL: an operation within the host, which a profiler hears of and no more */
	enum link_kind kind;
	int posted, passed, done; /* of its steps; passed: on their way, or arrived */
	uint64_t base;            /* the link's number of step 0; known once begun */
	bool begun, failed;
	struct transfer_events events; /* also says how many steps there are, whose and which way */
};

enum transfer_result { TRANSFER_WAITS, TRANSFER_MOVED, TRANSFER_DONE, TRANSFER_FAILED };

/* NULL: out of memory. */
struct transfer *transfer_new(const struct task *task, struct wire *wire, bool sends, int peer, int steps);
void transfers_drop(struct transfer *transfers);
/* Only for the oldest of its link. Wakes the stream's thread when there is something for it. */
enum transfer_result transfer_advance(struct transfer *transfer);

#endif
