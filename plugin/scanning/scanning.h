/* SPDX-License-Identifier: MIT */
/*
 * Which buffers of which operations are scanned, when, and what becomes of the results. One buffer is scanned once:
 *
 *  - of a call that the interposer sees, the input before the real function and the output after it, both on the user's
 *    stream; in a group, around the outermost end;
 *  - of all others, at the stop of NCCL's plan on the plan's stream: the output, and the input where the operation has
 *    left it as it was;
 *  - a communicator that does not block launches after the call has returned: its inputs at the call, its outputs at
 *    the plan.
 *
 * Under graph capture the interposer's scans become nodes of the graph, before and after the call; without it there are
 * none. Not on a driver's callback thread.
 */
#ifndef PLUGIN_SCANNING_SCANNING_H
#define PLUGIN_SCANNING_SCANNING_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/operations/launch.h"
#include "plugin/recording/recording.h"

/* Once per process, the first communicator's device current. abi: of NCCL's profiler interface, 0 none. */
void scanning_open(struct recording *recording, uint32_t abi);
/* At a communicator's init, its device current; callers take turns, since it asks the driver, which can block. What
 * scanning needs there; NULL: its buffers are not scanned. */
struct scan_device *scanning_device(struct recording *recording);

/* A slot with the addresses that the interposer knows, before the real function has launched anything. */
void scanning_call(struct recording *recording, struct communicator *communicator, uint64_t ticket);
/* The same, once the real function has returned; in a group it has launched nothing yet. */
void scanning_unannounced_call(struct recording *recording, struct communicator *communicator, uint64_t ticket);
struct call;
/* A call that is being captured, where scanning_call() would be for another one. call: NULL, the interposer sees none. */
void scanning_captured(struct recording *recording, struct communicator *communicator, const struct call *call);
/* Right before NCCL can launch the calls of this thread, and right after. failed: it has launched nothing. Returns how
 * long it took, ns. */
uint64_t scanning_before_call(struct recording *recording);
void scanning_behind_call(struct recording *recording, bool failed);

/* The operation's task, its slot filled but for its end. launch: NULL = elsewhere. */
void scanning_task(struct recording *recording, struct communicator *communicator, struct rw_operation *slot,
		   uint64_t ticket, const struct operation_launch *launch);
/* The plan's last task was told. */
void scanning_behind_plan(struct recording *recording);

/* The drain thread, at each look: results into the box, the budget, the policies. Returns whether any are to come. */
bool scanning_drain(struct recording *recording, uint64_t now_ns);

#endif
