/* SPDX-License-Identifier: MIT */
/* How this process begins to record: identity, configuration, black box, GPU progress, scanning, the plugin's thread. */
#ifndef PLUGIN_INIT_PROCESS_H
#define PLUGIN_INIT_PROCESS_H

#include "plugin/recording/communicator_init.h"
#include "plugin/recording/recording.h"

/* Returns the recording, making it when there is none, or NULL: switched off, no place for a box, or a forked child.
 * The caller holds no lock, and the communicator's device is current. Not on the path of a collective. */
struct recording *process_record(const struct communicator_init *communicator);

/* The header of the process's box, which is made now if there is none, for the first communicator, of `nranks`: touches no
 * device; what else a recording needs is made by process_record(). NULL: there is no box. Not on the path of a collective. */
struct rw_box_header *process_box(int32_t nranks);

#endif
