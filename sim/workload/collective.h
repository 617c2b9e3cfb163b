/* SPDX-License-Identifier: MIT */
/* Every NCCL call of the workload: on a group, enqueued on a stream; counts in elements of the type, as in NCCL. */
#ifndef WORKLOAD_COLLECTIVE_H
#define WORKLOAD_COLLECTIVE_H

#include <stddef.h>

#include <cuda.h>
#include <nccl.h>

#include "process_group.h"

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
