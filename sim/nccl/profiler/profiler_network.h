/* SPDX-License-Identifier: MIT */
/* What a profiler hears of the network: ProxyOp, ProxyStep and ProxyCtrl, all on the progress thread. */
#ifndef SIM_NCCL_PROFILER_PROFILER_NETWORK_H
#define SIM_NCCL_PROFILER_PROFILER_NETWORK_H

#include "sim/nccl/launch/plan.h"
#include "sim/nccl/network/link.h"
#include "sim/nccl/profiler/profiler_abi.h"

/* What the events of one transfer need. With PXN they come in another process than the one that filled this in. */
struct transfer_events {
	void *context, *parent; /* the plugin's; the parent is the task's event */
	int mask, pid, rank, peer, steps, chunk_bytes;
	bool sends;
	struct pxn *pxn; /* NULL: the events come here */
	uint64_t number; /* tells it apart there */
	size_t bytes;    /* so far */
	void *handle;
	void *step_handles[LINK_STEPS];
};

/* What happens to a transfer, in this order; the states of one step lie between its start and its stop. */
enum transfer_event { TRANSFER_START, TRANSFER_PROGRESS, STEP_START, STEP_STATE, STEP_STOP, TRANSFER_STOP };

/* On the launching thread, behind the start of the task's event. */
void profiler_transfer_take(struct transfer_events *events, const struct task *task, bool sends, int peer, int steps);
/* step: of steps; state and bytes: of a STEP_STATE. */
void profiler_transfer(struct transfer_events *events, enum transfer_event event, int step, enum profiler_state state,
		       size_t bytes);

/* ProxyCtrl, if it is asked for now; else *handle becomes NULL. As in NCCL it stays as it was when the plugin writes
 * nothing. */
void profiler_control_start(const struct ncclComm *comm, void **handle);
void profiler_control_state(void *handle, enum profiler_state state, int appended);
void profiler_control_stop(void *handle);
/* An event with one state. */
void profiler_control(const struct ncclComm *comm, void **handle, enum profiler_state state);

#endif
