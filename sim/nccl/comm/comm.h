/* SPDX-License-Identifier: MIT */
/* One rank of a communicator. */
#ifndef SIM_NCCL_COMM_COMM_H
#define SIM_NCCL_COMM_COMM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/nccl/bootstrap/hosts.h"
#include "sim/nccl/bootstrap/segment.h"
#include "sim/nccl/calls/operator.h"
#include "sim/nccl/comm/clique.h"
#include "sim/nccl/comm/state.h"
#include "sim/nccl/driver.h"
#include "sim/nccl/launch/capture.h"
#include "sim/nccl/launch/work_count.h"
#include "sim/nccl/network/proxy.h"

/* What a call does; the order is that of the names in function_name(). */
enum function {
	FUNCTION_ALLGATHER,
	FUNCTION_ALLREDUCE,
	FUNCTION_BROADCAST,
	FUNCTION_REDUCE,
	FUNCTION_REDUCESCATTER,
	FUNCTION_SEND,
	FUNCTION_RECV,
	FUNCTION_ALLTOALL,
	FUNCTION_GATHER,
	FUNCTION_SCATTER,
	FUNCTIONS
};

struct network;

struct ncclComm {
	int rank, nranks;
	CUdevice device;
	CUcontext context; /* the device's primary context, retained */
	char pci[16];
	uint64_t hash; /* equal on all ranks; profilers know the communicator by it */
	ncclConfig_t config;
	char name[128];  /* from the config; "" = none */
	uint64_t splits; /* so far */
	struct segment segment;
	struct hosts hosts;
	struct network *network; /* NULL: one host */
	struct pxn *pxn;         /* NULL: off */
	CUmodule module;
	CUfunction kernel;
	CUevent order; /* recorded behind the newest plan, and for a moment on other streams of a group */
	_Atomic uint64_t sequences[FUNCTIONS];
	bool collectives_connected; /* connect.h; whose thread calls or works for the communicator */
	struct capture capture;
	uint32_t ce_syncs; /* of copy-engine collectives so far */
	unsigned int turn; /* mailbox turn; the stream thread of the running plan owns it */
	uint64_t moved[FUNCTIONS]; /* collectives and receives whose data have arrived; so, too */
	atomic_bool stop;  /* aborted: waits end */

	_Atomic ncclResult_t state;       /* of calls that do not block: ncclInProgress while they go on */
	_Atomic ncclResult_t async_error; /* noticed between calls; the first one stays */
	_Atomic(struct work *) work;      /* whose thread works, or worked, for this communicator and is not joined */
	bool finalized, ending, revoked;  /* which calls were made */
	struct clique *clique;            /* NULL until the others are known */
	struct ncclComm *sibling;         /* the next of the clique */
	uint64_t meetings;                /* of the clique that this one came to; the clique's lock guards it */
	struct operator_list operators;
	struct ncclWindow_vidmem *windows;
	uint32_t signals_awaited[SEGMENT_RANKS_MAX]; /* by ncclWaitSignal so far, from each rank */

	pthread_mutex_t lock;
	pthread_cond_t idle;
	unsigned int running; /* plans launched and not done, and calls on the way; under lock */

	void *profiler; /* the plugin's context */
	struct proxy proxy;
	struct work_count works; /* for KernelCh */
};

const char *function_name(enum function function);

/*
 * A communicator that is nobody's rank yet, on a copy of the config; NULL = defaults. ncclInvalidArgument: the config
 * is bad; ncclSystemError: out of memory.
 */
ncclResult_t comm_new(struct ncclComm **comm, const ncclConfig_t *config, CUdevice device);
/* Makes it rank of nranks under the id; waits for the other ranks. hash: the communicator's number. */
ncclResult_t comm_init(struct ncclComm *comm, const ncclUniqueId *id, uint64_t hash, int rank, int nranks);
/* All ranks of all hosts meet: see hosts_meet(). On API threads. */
ncclResult_t comm_meet(struct ncclComm *comm);
/* Wakes what waits for other ranks, to look at the stop flag. Not while another thread makes the communicator. */
void comm_wake(struct ncclComm *comm);
/* Waits for every plan of the communicator; with stop set, wakes them until they have ended. */
void comm_drain(struct ncclComm *comm);
/* Waits for the plans and ends the progress thread. */
void comm_quiesce(struct ncclComm *comm);
/*
 * Ends a communicator, however far its init came. The last of its clique waits for the plans of all members and frees
 * them; their profiler contexts are finalized on this thread, whatever device is current.
 */
void comm_reclaim(struct ncclComm *comm);

/* What ncclCommGetAsyncError reports; joins the thread of a call that has succeeded. */
ncclResult_t comm_error(struct ncclComm *comm);
/* Whether a call may use the communicator now; says why not. An aborted one waits for the thread that works for it. */
ncclResult_t comm_ready(struct ncclComm *comm);

#endif
