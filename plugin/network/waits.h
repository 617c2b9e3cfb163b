/* SPDX-License-Identifier: MIT */
/*
 * What the channels of leased communicators wait for, from NCCL's ProxyOp and ProxyStep events → rw_wait entries of
 * the box. NCCL's progress threads call it: wait-free, no allocation, no system call but the vDSO's clock.
 *
 * Up to eight steps of a channel are in flight. NCCL's send loop polls only the oldest step that is not yet on its
 * way: those behind it stay in SendGPUWait though their data is there. So only the state of the oldest step counts, and
 * no time counts twice.
 *
 * What NCCL does: it starts a receive's step again at each poll until a buffer is posted, records SendPeerWait at each
 * attempt, never stops operations of transports without a network, and after an abort stops nothing.
 */
#ifndef PLUGIN_NETWORK_WAITS_H
#define PLUGIN_NETWORK_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "blackbox/writer.h"

/* One ProxyOp. */
struct waits_operation {
	int32_t peer; /* rank in the communicator */
	uint32_t step_bytes;
	uint8_t channel;
	bool sends;
};

/* Once per process, before any other. The box outlives the process's use of it. */
void waits_open(struct box_writer *box);
/* The plugin's thread, while no communicator is leased: where more than half of the entries are used, all are freed. */
void waits_renew(void);

/* Numbers for handles; 0: left out, or stale. `comm`: index of the communicator. */
uint64_t waits_start(uint32_t comm, const struct waits_operation *operation);
uint64_t waits_start_step(uint64_t operation, int step, uint64_t now_ns);
/* `state` as NCCL numbers them; bytes: of the step, 0 not known. */
void waits_step_state(uint64_t step, int state, uint64_t bytes, uint64_t now_ns);
/* States of the operation itself, NCCL before 2.27. */
void waits_state(uint64_t operation, int state, uint64_t now_ns);
void waits_stop_step(uint64_t step, uint64_t now_ns);
void waits_stop(uint64_t operation, uint64_t now_ns);

#endif
