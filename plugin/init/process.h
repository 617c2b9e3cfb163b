/* SPDX-License-Identifier: MIT */
/* How this process begins to record: identity, configuration, black box, GPU progress, scanning, the plugin's thread. */
#ifndef PLUGIN_INIT_PROCESS_H
#define PLUGIN_INIT_PROCESS_H

#include "plugin/recording/communicator_init.h"
#include "plugin/recording/recording.h"

/* Returns the recording, making it when there is none, or NULL: switched off, no place for a box, or a forked child.
 * The caller holds no lock, and the communicator's device is current. Not on the path of a collective. */
struct recording *process_record(const struct communicator_init *communicator);

/* This process is about to wait for the other ranks of a communicator of `nranks` in its init: the box, which is made now
 * if there is none, shows that until process_init_returned(). Touches no device; what else a recording needs is made by
 * process_record(). Not on the path of a collective. One init at a time is noted. */
void process_init_waits(uint64_t id, int32_t nranks, int32_t rank);
/* The init of this communicator has returned, with success or without. */
void process_init_returned(uint64_t id);

#endif
