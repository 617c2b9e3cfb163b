/* SPDX-License-Identifier: MIT */
/*
 * The TCP connection between two ranks of different hosts, and the four links that it carries: two kinds, two
 * directions. A step goes onto the wire only when the receiver has given a credit for it, and is done when the receiver
 * says that all of it has arrived; so nothing ever waits in a socket that its reader has no room for. All of it belongs
 * to the progress thread.
 */
#ifndef SIM_NCCL_NETWORK_WIRE_H
#define SIM_NCCL_NETWORK_WIRE_H

#include "sim/nccl/network/link.h"

struct wire_head {
	uint8_t type, kind;
	uint16_t unused;
	uint32_t value; /* how many, or bytes */
};

struct wire {
	int fd;    /* does not block; -1: a rank of the own host */
	int error; /* 0, or why nothing comes or goes any more: -errno; -ECONNRESET also when the peer has closed */
	struct link send[LINK_KINDS], receive[LINK_KINDS];
	uint32_t owed_credits[LINK_KINDS], owed_arrivals[LINK_KINDS]; /* not yet said to the peer */

	struct wire_head out;      /* on its way */
	size_t out_sent, out_size; /* with its head; equal: nothing on its way */
	struct wire_head in;
	size_t in_got;
};

/* Reads and writes what can be without waiting. Returns true when something has moved, or has failed. */
bool wire_advance(struct wire *wire);
/* Whether the socket must take more before the wire can go on. */
bool wire_is_stuck(const struct wire *wire);
/* The receiver has room for one more step. */
void wire_credit(struct wire *wire, enum link_kind kind);
/* Hands the next filled step to the wire; false: the receiver has given no credit. */
bool wire_queue(struct wire *wire, enum link_kind kind);
void wire_close(struct wire *wire);

#endif
