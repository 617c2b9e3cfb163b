/* SPDX-License-Identifier: MIT */
/*
 * What the interposer knows of the NCCL calls in progress on this thread, and what it makes of them.
 *
 * Profiler ABI v5 and later announce every call themselves, on the calling thread, while the real function runs: then a
 * call only lends its addresses to the event (call_take). Older ones announce tasks after the launch, and a NCCL
 * without the interface nothing: then the call is the operation. It gets its slot here before the real function runs, a
 * launch and GPU progress around that function, or around the outermost ncclGroupEnd, and a task that comes meanwhile
 * is recognised (call_task) instead of making a slot of its own. One operation is one slot whoever sees it.
 *
 * A program can open or close a group past the wrappers. What they hold of it is then given up: the outputs of its
 * calls are scanned where NCCL reports the launch, and else not at all.
 *
 * A call that ABI v5 and later should announce and does not (2.28 reports nothing of the copy engine) gets its slot
 * when the real function has returned: its launch is the time around that, or around the group's end, without GPU
 * progress.
 *
 * All but the first call of a thread is wait-free, without allocation and without a system call of ours.
 */
#ifndef PLUGIN_OPERATIONS_CALL_H
#define PLUGIN_OPERATIONS_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/operations/operation.h"
#include "plugin/operations/reported.h"
#include "plugin/recording/recording.h"

struct call {
	struct communicator *communicator; /* NULL: one that the interposer does not know */
	struct reported_call what;
	uint64_t send, recv;
	int32_t peer; /* p2p; else -1 */
	/* Private. */
	bool inside;    /* another call: NCCL's own ncclBroadcast in ncclBcast */
	bool announced; /* some event of the profiler ABI came while it ran */
	bool taken;     /* by that event */
	uint32_t group; /* of NCCL's, in which the event came; 0: not known */
	uint64_t ticket;
};

enum call_result {
	CALL_DONE,
	CALL_GOES_ON, /* behind the caller: the communicator does not block */
	CALL_FAILED,  /* NCCL took no work, or launches nothing of the group */
};

/* Around the real function, on its thread. call lives until call_end(). */
void call_begin(struct call *call);
void call_end(struct call *call, enum call_result result);

/* ncclGroupStart was successful. */
void call_group_start(void);
/* A task comes on the thread that launched it: does that lie within one of our wrappers on this thread, behind which
 * its output can be scanned? Else it lies past them, and what they hold of this thread's group is given up. */
bool call_launches_here(void);

/* Around the real ncclGroupEnd (ncclGroupSimulateEnd has only the end). */
void call_group_end_begin(void);
void call_group_end(enum call_result result);
bool call_in_group(void);

/* The group of this thread contains a call that creates a communicator. */
void call_group_creates(void);
/* Did the group that has ended on this thread contain one? Forgets it. */
bool call_group_created(void);

/* The communicator that the profiler interface has reported on this thread, while a wrapper waits for its init. Set by
 * init_context(). */
void call_communicator_added(struct communicator *communicator);
/* Returns it, and forgets it; NULL: none since. */
struct communicator *call_take_communicator(void);

/* The call is being captured into a CUDA graph: where graphs are scanned, its scans become nodes. number: of
 * communicator_count_captured(). */
void call_captured(struct recording *recording, struct communicator *communicator, const struct call *call,
		   uint64_t number);

/* The outermost call that this thread is in, or NULL. Initial-exec as in thread.h, and as scarce. */
extern __thread struct call *call_in_progress __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* Is the output of an operation that the interposer has seen scanned behind its call? launch: NULL, on another
 * thread. */
static inline bool call_scans_output(const struct communicator *communicator, const struct operation_launch *launch)
{
	return (!launch || call_launches_here()) && communicator->blocks;
}

/* The call that this event announces, or NULL. Once per call. There is one in progress. group: in which NCCL makes
 * it. */
struct call *call_take(const struct communicator *communicator, const struct reported_call *what, uint32_t group);

enum call_task { CALL_TASK_FOREIGN, CALL_TASK_OURS };

/* A task that no call announced (ABI < v5). OURS: it belongs to a call with a slot, or is the replay of a captured one;
 * *ticket is the slot's, or 0 where it is not certain which one. FOREIGN: the interposer has seen no call on the
 * communicator. Where it has, each of its calls has a slot already, also where NCCL starts the tasks when no wrapper is
 * around: at the end of a group that was opened or closed past them, or on a thread of the driver. There NCCL starts
 * those of a replay that the network takes part in, and of calls behind such a replay (NCCL 2.27, src/enqueue.cc,
 * isHostCbEnq), on some ranks and not on others. */
enum call_task call_task(struct recording *recording, struct communicator *communicator,
			 const struct reported_bare_task *event, uint64_t *ticket);

#endif
