/* SPDX-License-Identifier: MIT */
/* Every NCCL call of the workload: on a group, enqueued on a stream; counts in elements of the type, as in NCCL. */
#ifndef SIM_WORKLOAD_TRAINING_COLLECTIVE_H
#define SIM_WORKLOAD_TRAINING_COLLECTIVE_H

#include <stddef.h>

#include <cuda.h>
#include <nccl.h>

#include "sim/workload/job/process_group.h"

enum collective_function {
	COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALL_REDUCE, COLLECTIVE_BROADCAST,
	COLLECTIVE_SEND, COLLECTIVE_RECV, /* between start and end, see below */
};

struct collective_call {
	enum collective_function function;
	struct process_group *group;
	CUdeviceptr send, recv;
	size_t count;
	ncclDataType_t type;
	ncclRedOp_t op; /* of reductions */
	int root;	/* of Broadcast; the peer of Send and Recv */
	CUstream stream;
};

/* Sees the data of every call, Send and Recv, too: in stream order before it (Recv has none) and behind it (nor has
 * Send).
 */
struct collective_watch {
	void (*sending)(void *argument, const struct collective_call *call);
	void (*received)(void *argument, const struct collective_call *call);
	void *argument;
};

/* A copy is kept. NULL: no more. */
void collective_set_watch(const struct collective_watch *watch);

/* Elements in the buffers, of all ranks' parts. */
size_t collective_send_count(const struct collective_call *call);
size_t collective_recv_count(const struct collective_call *call);

/* Past the hook. */
void collective_issue(const struct collective_call *call);
/* From then on the hook gets each collective (not sends and receives) and issues what it will. NULL: no more. */
void collective_set_hook(void (*hook)(void *argument, const struct collective_call *call), void *argument);

void collective_all_gather(struct process_group *group, CUdeviceptr send, CUdeviceptr recv, size_t count,
			   ncclDataType_t type, CUstream stream);
void collective_reduce_scatter(struct process_group *group, CUdeviceptr send, CUdeviceptr recv, size_t count,
			       ncclDataType_t type, CUstream stream);
void collective_all_reduce(struct process_group *group, CUdeviceptr send, CUdeviceptr recv, size_t count,
			   ncclDataType_t type, ncclRedOp_t op, CUstream stream);

/* Between these two: sends and receives that run together. `peer` is a rank of the group. */
void collective_start(struct process_group *group);
void collective_send(struct process_group *group, CUdeviceptr data, size_t count, ncclDataType_t type, int peer,
		     CUstream stream);
void collective_recv(struct process_group *group, CUdeviceptr data, size_t count, ncclDataType_t type, int peer,
		     CUstream stream);
void collective_end(void);

#endif
