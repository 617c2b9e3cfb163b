/* SPDX-License-Identifier: MIT */
/*
 * NCCL's event mask: a word of libnccl by which NCCL knows which events its plugin wants. Whoever else writes it takes
 * events from us: since 2.31 NCCL's RAS client can set it for a whole job (ncclProfilerSetRasOverride(),
 * src/plugin/profiler.cc). We do not put our bits back, because somebody wanted them away; the box says which were
 * missing.
 */
#ifndef PLUGIN_RECORDING_EVENT_MASK_H
#define PLUGIN_RECORDING_EVENT_MASK_H

#include <stdint.h>

struct communicator;
struct recording;

/* At the end of a communicator's init: its NCCL's mask, which has these bits of ours from now on. */
void event_mask_asked(struct communicator *communicator, int *mask, int bits);
/* Looks at the masks of all living communicators. now_ns: CLOCK_MONOTONIC. The plugin's thread, once a second. */
void event_mask_poll(struct recording *recording, uint64_t now_ns);

#endif
