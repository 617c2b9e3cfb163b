/* SPDX-License-Identifier: MIT */
/*
 * One direction between two ranks of different hosts, as one of them sees it: a ring of buffers between its GPU (the
 * stream's thread) and its progress thread. Steps are numbered from the communicator's beginning. Sending: the progress
 * thread posts a step, the GPU fills it, the wire takes it. Receiving: the progress thread posts it, the wire fills it,
 * the GPU empties it.
 */
#ifndef SIM_NCCL_NETWORK_LINK_H
#define SIM_NCCL_NETWORK_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINK_STEPS      8
#define LINK_STEP_BYTES ((size_t)128 << 10)

/* Collectives and point-to-point calls have links of their own, as in NCCL: each keeps its order for itself. */
enum link_kind { LINK_COLLECTIVE, LINK_P2P, LINK_KINDS };

struct link {
	char *buffer; /* of all steps; NULL until the first one is posted */
	uint32_t bytes[LINK_STEPS];
	_Atomic uint64_t posted; /* steps below may be filled */
	_Atomic uint64_t filled;
	_Atomic uint64_t emptied; /* by the GPU, or onto the wire */
	/* The progress thread's, the last three for sending. */
	const struct transfer *user;
	uint64_t credits; /* the peer takes steps below */
	uint64_t queued;  /* for the wire */
	uint64_t arrived; /* at the peer, who said so */
};

static inline size_t link_steps(size_t bytes)
{
	return (bytes + LINK_STEP_BYTES - 1) / LINK_STEP_BYTES;
}

static inline char *link_buffer(const struct link *link, uint64_t step)
{
	return link->buffer + step % LINK_STEPS * LINK_STEP_BYTES;
}

/* On the progress thread, LINK_STEPS ahead of what is done at most. False: out of memory. */
bool link_post(struct link *link);
void link_close(struct link *link);

/* On the stream's thread. As many bytes as one step takes; 0: not now. */
size_t link_fill(struct link *link, const char *from, size_t size);
/* The next step, of which at most room bytes are kept; 0: not now. */
size_t link_empty(struct link *link, char *to, size_t room);

#endif
