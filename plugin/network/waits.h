/* SPDX-License-Identifier: MIT */
/*
 * What the channels of leased communicators wait for, from NCCL's ProxyOp and ProxyStep events → rw_wait entries of
 * the box. NCCL's progress threads call it: wait-free, no allocation, no system call but the vDSO's clock.
 *
 * Up to eight steps of a channel are in flight. NCCL's send loop looks only at the oldest step that is not yet on its
 * way: those behind it stay in SendGPUWait though their data is there. So only the state of the oldest step counts, and
 * no time counts twice.
 *
 * What NCCL does: it starts a receive's step again at each poll until a buffer is posted, records SendPeerWait at each
 * attempt, never stops operations of transports without a network, and after an abort stops nothing.
 */
#ifndef PLUGIN_NETWORK_WAITS_H
#define PLUGIN_NETWORK_WAITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "blackbox/writer.h"

enum { WAITS_STEPS = 16 /* of a channel in flight; NCCL has 8 at most */ };

/* Private part of an entry, by its index. All but `taken` and `operations` belongs to whoever has it: one thread; if
 * two meet, which NCCL never does, the second's event is left out. */
struct waits_channel {
	_Atomic uint32_t taken;
	_Atomic uint32_t operations; /* so far; the number of the latest */
	uint32_t operation;          /* whose steps are in flight; others' handles are stale */
	uint32_t oldest, next;       /* steps; equal: none in flight */
	uint32_t step_bytes;         /* of an operation's step, at most */
	uint64_t since_ns;
	uint8_t waits_for[WAITS_STEPS]; /* by step */
};

struct waits {
	struct box_writer *box;
	struct waits_channel channels[RW_BOX_WAITS];
};

/* One ProxyOp. */
struct waits_operation {
	int32_t peer; /* rank in the communicator */
	uint32_t step_bytes;
	uint8_t channel;
	bool sends;
};

/* Before any other. Touches all its memory: nothing faults later. */
void waits_open(struct waits *waits, struct box_writer *box);
/* The drain, while no communicator is leased: where more than half of the entries are used, all are given back. */
void waits_renew(struct waits *waits);

/* Numbers for handles; 0: left out, or stale. `comm`: index of the communicator. */
uint64_t waits_start(struct waits *waits, uint32_t comm, const struct waits_operation *operation);
uint64_t waits_start_step(struct waits *waits, uint64_t operation, int step, uint64_t now_ns);
/* `state` as NCCL numbers them; bytes: of the step, 0 not known. */
void waits_step_state(struct waits *waits, uint64_t step, int state, uint64_t bytes, uint64_t now_ns);
/* States of the operation itself, NCCL before 2.27. */
void waits_state(struct waits *waits, uint64_t operation, int state, uint64_t now_ns);
void waits_stop_step(struct waits *waits, uint64_t step, uint64_t now_ns);
void waits_stop(struct waits *waits, uint64_t operation, uint64_t now_ns);

#endif
