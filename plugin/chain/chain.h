/* SPDX-License-Identifier: MIT */
/*
 * RANKWATCH_CHAIN: one more profiler plugin in the place that NCCL has for one. It gets what NCCL would have sent it:
 * its own contexts and handles, events that it asked for and the parents of these. NCCL gets the union of both
 * masks; the other's mask is picked up again at each group. What it does there is its own matter.
 *
 * Pointers that NCCL keeps for both are numbers of a table of pairs (plugin/chain/pair.h). Where only one of the two
 * has something to keep, NCCL keeps that. A handle whose pair was overwritten (by 65,536 newer ones) is stopped for
 * neither; that of a captured call, which replays hand in until the program ends, is kept, for the first 16,384 of
 * them.
 *
 * All but chain_init and chain_finalize is wait-free, but for what the other does.
 */
#ifndef PLUGIN_CHAIN_CHAIN_H
#define PLUGIN_CHAIN_CHAIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "plugin/nccl/profiler.h"
#include "plugin/recording/communicator_init.h"

extern __attribute__((visibility("hidden"))) _Atomic bool chain_running; /* as in recording.h */

/* False for nearly everybody: one load. Does not go back. */
static inline bool chain_is_on(void)
{
	return __builtin_expect(atomic_load_explicit(&chain_running, memory_order_acquire), 0);
}

/* After our own init, which left *context; `bits`: what we want to be called for. Loads the other at the first call.
 * *context becomes what NCCL is to keep for both, and *mask theirs and ours. */
void chain_init(const struct communicator_init *communicator, profiler_log *log, int bits, void **context,
		int *mask);
/* We do not want these bits of chain_init() any more. Where the other plugin does, NCCL goes on. */
void chain_withdraw(int bits, int *mask);
void chain_finalize(void *context);

/* Bits that we want beside those of chain_init(), for now. The drain. */
void chain_lease(int bits);

/* Our part of what NCCL keeps: a context or a handle. */
void *chain_ours(const void *kept);

struct chain_event {
	uint64_t type;
	void *descriptor;   /* NCCL's */
	const void *parent; /* as NCCL has it */
	const void *group;  /* likewise; NULL none */
	bool captured;      /* its handle comes back at every replay */
	bool foreign;       /* of another process (PXN): its parent means nothing here */
};

/* Passes the event on; `ours`: our own handle. What NCCL is to keep for both. */
void *chain_start(const struct chain_event *event, const void *context, void *ours);
/* Passes them on. Our own part is the caller's. */
void chain_stop(void *handle);
void chain_record_state(void *handle, int state, void *arguments);

#endif
