/* SPDX-License-Identifier: MIT */
/* How this process begins to record: identity, configuration, black box, GPU progress, scanning, the plugin's
 * thread. */
#ifndef PLUGIN_INIT_PROCESS_H
#define PLUGIN_INIT_PROCESS_H

#include "plugin/recording/communicator_init.h"
#include "plugin/recording/recording.h"

/* Returns the recording, making it when there is none, or NULL: switched off, no place for a box, or a forked child.
 * The caller holds no lock. Makes no call of the driver, so that no other thread's init waits for one. Not on the path
 * of a collective. */
struct recording *process_record(const struct communicator_init *communicator);
/* After that, with the communicator's device current: what the driver is asked for once per process, and then the start
 * line. The driver can block; callers take turns. */
void process_open_device(struct recording *recording);

/* The header of the process's box, which is made now if there is none, for the first communicator, of `nranks`: touches
 * no device; what else a recording needs is made by process_record(). NULL: there is no box. Not on the path of a
 * collective. */
struct rw_box_header *process_box(int32_t nranks);

#endif
