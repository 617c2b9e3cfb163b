/* SPDX-License-Identifier: MIT */
/*
 * Replays of captured collectives, with RANKWATCH_KERNELCH=1. NCCL reports nothing of a replay on the calling thread.
 * Where its kernel events are wanted it has put a host callback in front of each of its kernels in the graph, and
 * reports from there: a Coll event, whose parent is the call that was captured, and then KernelCh events, whose parent
 * is that Coll event. One slot is claimed and filled when the last channel of the kernel has stopped, so a replay that
 * never ends takes none. The communicator's entry in the box counts the captured calls of which every replay is
 * recorded so.
 *
 * NCCL never says that a graph is destroyed, and hands the captured call in for as long as the program runs. So handles
 * are numbers, and a captured call whose entry was given to a newer one is not known any more: its replays are not
 * timed.
 *
 * Before 2.31 NCCL counts its kernels wrong where graphs and other calls are mixed. replay_is_counted() says when, and
 * then nothing is recorded. docs/nccl-versions.md, "Replays of CUDA graphs".
 *
 * All of it is wait-free, as in kernel.h, but replays_open().
 */
#ifndef PLUGIN_OPERATIONS_REPLAY_H
#define PLUGIN_OPERATIONS_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/operations/reported.h"
#include "plugin/recording/recording.h"

enum {
	REPLAY_CALLS = 16384,  /* captured calls that are known: the newest; a power of two */
	REPLAY_RUNNING = 4096, /* replays that NCCL has announced and that have not ended; the same */
};

/* Once per process. False: no memory, and no replay is recorded. */
bool replays_open(void);

/* A call is being captured, on its thread. call_number: which of its kind, from 0. Returns the number to make its
 * handle of; 0: its replays are not recorded. */
uint64_t replay_note_call(struct recording *recording, const struct communicator *communicator,
			  const struct reported_call *call, uint64_t call_number);

/* NCCL's callback announces a replay. captured: number of the call's handle. The handle of the replay, or NULL. */
void *replay_begin(struct communicator *communicator, uint64_t captured, const struct reported_task *task);

/* A channel of the replay's kernel began at that %globaltimer. parent: of any kind. The channel's handle, or NULL. */
void *replay_start_channel(const void *context, const void *parent, uint8_t channel, uint64_t raw);
/* It ended. handle: of any kind. */
void replay_stop_channel(void *handle, uint64_t raw);

/* A captured call of a communicator whose NCCL is too old to say what is a replay. */
void replay_note_unsaid(const struct communicator *communicator);

/* Of some communicator of this process NCCL counts the kernels wrong: for nearly everybody false. Hidden, as in
 * recording.h. */
extern __attribute__((visibility("hidden"))) _Atomic bool replays_are_miscounted;
bool replay_search_miscounted(const struct communicator *communicator);

/* Does NCCL still count the kernels of this communicator right? False, once and for all: KernelCh events may have the
 * times of other kernels, also those of calls outside of graphs. */
static inline bool replay_is_counted(const struct communicator *communicator)
{
	return !atomic_load_explicit(&replays_are_miscounted, memory_order_relaxed) ||
	       !replay_search_miscounted(communicator);
}

#endif
