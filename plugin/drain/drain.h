/* SPDX-License-Identifier: MIT */
/*
 * The plugin's own thread, "rankwatch": what nobody may do on a collective's path. Follows operations to their end
 * (progress counters, operations without a task, expiry), takes clock anchors and samples the threads of this process.
 * Makes no CUDA call: in a global capture mode any thread's call could break the user's capture. Runs until the process
 * ends.
 */
#ifndef PLUGIN_DRAIN_DRAIN_H
#define PLUGIN_DRAIN_DRAIN_H

struct recording;

/* 0 or -errno. Once per process. */
int drain_start(struct recording *recording);

#endif
