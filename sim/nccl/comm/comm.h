/* SPDX-License-Identifier: MIT */
/* One rank of a communicator, and what those who work for it note of it, or wake. Calls nobody. */
#ifndef SIM_NCCL_COMM_COMM_H
#define SIM_NCCL_COMM_COMM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/nccl/bootstrap/hosts.h"
#include "sim/nccl/bootstrap/segment.h"
#include "sim/nccl/driver.h"
#include "sim/nccl/launch/capture.h"

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

/* Memory that the program has registered (window.h), in the communicator's list, which frees it. */
struct ncclWindow_vidmem {
	struct ncclWindow_vidmem *next;
	const char *start;
	size_t size;
	int flags;
	bool window; /* not a registered buffer, which changes nothing */
};

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
	struct user_operator *operators;  /* that the program made: operator.h */
	int operator_count;
	struct ncclWindow_vidmem *windows;
	uint32_t signals_awaited[SEGMENT_RANKS_MAX]; /* by ncclWaitSignal so far, from each rank */

	pthread_mutex_t lock;
	pthread_cond_t idle;
	unsigned int running; /* plans launched and not done, and calls on the way; under lock */

	void *profiler; /* the plugin's context */
	struct proxy *proxy;      /* NULL until its init comes to it */
	_Atomic int wake_fd;      /* eventfd: the progress thread has something to look at; -1: there is none */
	struct work_count *works; /* for KernelCh */
};

const char *function_name(enum function function);

void comm_plan_started(struct ncclComm *comm);
void comm_plan_done(struct ncclComm *comm);
/* For whoever notices an error between calls, on any thread: the transport. */
void comm_set_async_error(struct ncclComm *comm, ncclResult_t error);
/* A plan has started or stopped, or a link has moved: the progress thread looks. */
void comm_wake_proxy(struct ncclComm *comm);

#endif
