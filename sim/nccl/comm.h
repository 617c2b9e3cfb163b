/* SPDX-License-Identifier: MIT */
/* One rank of a communicator. */
#ifndef SIM_NCCL_COMM_H
#define SIM_NCCL_COMM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "driver.h"
#include "hosts.h"
#include "proxy.h"
#include "segment.h"

/* What a call does; the order is that of the names in function_name(). */
enum function {
	FUNCTION_ALLGATHER,
	FUNCTION_ALLREDUCE,
	FUNCTION_BROADCAST,
	FUNCTION_REDUCE,
	FUNCTION_REDUCESCATTER,
	FUNCTION_SEND,
	FUNCTION_RECV,
	FUNCTIONS
};

struct ncclComm {
	int rank, nranks;
	CUdevice device;
	CUcontext context; /* the device's primary context, retained */
	char pci[16];
	uint64_t hash;   /* equal on all ranks; profilers know the communicator by it */
	char name[128];  /* from the config; "" = none */
	uint64_t splits; /* so far */
	struct segment segment;
	struct hosts hosts;
	CUmodule module;
	CUfunction kernel;
	CUevent order; /* recorded behind the newest plan, and for a moment on other streams of a group */
	uint64_t sequences[FUNCTIONS];
	unsigned int turn; /* mailbox turn; the stream thread of the running plan owns it */
	atomic_bool stop;  /* aborted: waits end */

	pthread_mutex_t lock;
	pthread_cond_t idle;
	unsigned int running; /* plans launched and not done; under lock */

	void *profiler; /* the plugin's context */
	bool attached;  /* to the plugin */
	struct proxy proxy;
};

/* A call that may take part in a group: it runs at once, or on its own thread at the group's end. */
struct comm_job {
	struct comm_job *next;
	ncclResult_t (*run)(struct comm_job *job);
	ncclComm_t *out;
	ncclUniqueId id;
	int nranks, rank;
	struct ncclComm *parent; /* of a split, with color and key */
	int color, key;
	char name[128];
	CUdevice device;
	ncclResult_t result;
	pthread_t thread;
};

const char *function_name(enum function function);

/* Builds job->out as rank of nranks under the id; waits for the other ranks. hash: the communicator's number. */
ncclResult_t comm_init(const struct comm_job *job, uint64_t hash);
/* All ranks of all hosts meet: see hosts_meet(). On API threads. */
ncclResult_t comm_meet(struct ncclComm *comm);
void comm_plan_started(struct ncclComm *comm);
void comm_plan_done(struct ncclComm *comm);
/* Waits for every plan of the communicator; with stop set, wakes them until they have ended. */
void comm_drain(struct ncclComm *comm);
/* Drops a drained communicator, last of all its profiler context. Accepts a half-built one. */
void comm_free(struct ncclComm *comm);

#endif
