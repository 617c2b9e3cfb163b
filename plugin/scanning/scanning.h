/* SPDX-License-Identifier: MIT */
/*
 * Which buffers of which operations are scanned, when, and what becomes of the results. Each buffer is scanned once:
 *
 *  - of a call that the interposer sees, the input before the real function and the output after it, both on the user's
 *    stream; in a group, around the outermost end;
 *  - of all others, at the stop of NCCL's plan on the plan's stream: the output, and the input where the operation has
 *    left it as it was;
 *  - only where it is known that the launch lies before the return is an output scanned behind the call: a communicator
 *    that does not block launches later, and so may one that the interposer does not know. Inputs at the call, outputs
 *    at the plan.
 *
 * What is not scanned has its reason in the slot (enum rw_unscannable): an input in place that the interposer does
 * not see; before ABI v5 outputs of communicators that do not block, and everything that the interposer does not see,
 * as no stream is known. With the copy engine on 2.28, which only the interposer sees, both sides after the call, the
 * input if the operation has left it as it was. AlltoAll, Gather and Scatter on 2.28 and later are scanned as the
 * sends and receives that NCCL makes of them, at the plan. A group that only its end passes by, or whose launch NCCL
 * never reports (Broadcast since 2.29.2, symmetric kernels before 2.31) on a communicator that is not known to block,
 * has no scan of its output.
 *
 * Under graph capture the interposer's scans become nodes of the graph, before and after the call; without it there are
 * none. Not on a driver's callback thread.
 */
#ifndef PLUGIN_SCANNING_SCANNING_H
#define PLUGIN_SCANNING_SCANNING_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/recording/recording.h"
#include "plugin/scan/scanner.h"

/* Once per process; makes no call of the driver. abi: of NCCL's profiler interface, 0 none. */
void scanning_open(struct recording *recording, uint32_t abi);
/* Off for good, before any device is opened: `why`. Does nothing where it is off. */
void scanning_close(const char *why);
/* At a communicator's init, its device current; callers take turns, since it asks the driver, which can block. What
 * scanning needs there; NULL: its buffers are not scanned. */
struct scan_device *scanning_device(void);
/* Off for good: this call of the driver failed. Any thread. Does nothing where it is off. */
void scanning_give_up(const char *call, int error);

/* A slot with the addresses that the interposer knows, before the real function has launched anything. in_group: the
 * call lies between ncclGroupStart and ncclGroupEnd, and is launched by the latter. */
void scanning_call(struct recording *recording, struct communicator *communicator, uint64_t ticket, bool in_group);
/* The same, once the real function has returned; in a group it has launched nothing yet. */
void scanning_unannounced_call(struct recording *recording, struct communicator *communicator, uint64_t ticket,
			       bool in_group);

/* A call that is being captured, as the interposer sees it. */
struct scanning_capture {
	uint64_t number; /* of communicator_count_captured() */
	uint8_t function, dtype, reduction; /* enum rw_function, rw_dtype, rw_operator */
	int32_t root, peer;                 /* -1: none */
	uint64_t count, stream;
	uint64_t send, recv; /* addresses, 0: none */
};

/* Where scanning_call() would be for another call. capture: NULL, the interposer does not see it. */
void scanning_captured(struct recording *recording, struct communicator *communicator,
		       const struct scanning_capture *capture);

/* Does this thread have scans to launch? For most calls and plans it has none: then none of the three below need be
 * called. */
static inline bool scanning_has_batches(void)
{
	return scanner_has_batches();
}
/* Of the inputs that this thread has to scan only those of this group of NCCL's are kept: another one was closed past
 * the wrappers, and the program may have written to them since. */
void scanning_keep_inputs(uint32_t group);
/* Right before NCCL can launch the calls of this thread, and right after. failed: it has launched nothing. */
void scanning_before_call(void);
void scanning_behind_call(bool failed);
/* In place of the latter: NCCL launches the calls of this thread where no wrapper of ours is around it, or it is not
 * known that it has. Their outputs are left to the plan where NCCL reports plans. */
void scanning_not_launched(bool plans_are_reported);
/* NCCL has reported the plan's last task. */
void scanning_behind_plan(void);

/* The operation's task, its slot filled but for its end; its communicator is scanned, and its output not behind the
 * call. stream: of its launch; NULL: it was launched on another thread. */
void scanning_task(struct recording *recording, struct communicator *communicator, struct rw_operation *slot,
		   uint64_t ticket, const uint64_t *stream);

/* The plugin's thread: the task of this operation does not come, so nobody scans its output. */
void scanning_unreported(struct recording *recording, struct rw_operation *slot);

/* The plugin's thread, at each poll: results into the box, the budget, what a NaN leads to. Returns whether results are
 * still to come. */
bool scanning_drain(struct recording *recording, uint64_t now_ns);

#endif
