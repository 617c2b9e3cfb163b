/* SPDX-License-Identifier: MIT */
/*
 * One-sided calls (ncclPutSignal, ncclSignal, ncclWaitSignal: NCCL 2.29 and later), of which no profiler interface
 * reports. They are counted as untracked, and the GPU says in stream order how many of a communicator's waits for
 * signals are over (struct rw_gpu_progress). Not on the path of a collective.
 */
#ifndef PLUGIN_OPERATIONS_SIGNALS_H
#define PLUGIN_OPERATIONS_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/recording/communicator.h"

/* Such a call has returned with success. communicator: NULL: not known, and counted for the process alone. */
void signals_count(struct communicator *communicator);
/* ncclWaitSignal on this communicator has put its wait into the stream. In a
 * group NCCL does so when the group ends: of several waits in a group the last one is followed. */
void signals_wait(struct communicator *communicator, uint64_t stream, bool in_group);
/* The thread's outermost group has ended. success: it was launched, and not on a thread of NCCL's. */
void signals_group_end(bool success);

#endif
