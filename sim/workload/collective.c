/* SPDX-License-Identifier: MIT */
#include "collective.h"

void collective_all_gather(struct process_group *group, CUdeviceptr send, CUdeviceptr recv, size_t count,
			   ncclDataType_t type, CUstream stream)
{
	ncclComm_t comm = process_group_comm(group);

	NCCL_CHECK(ncclAllGather((void *)send, (void *)recv, count, type, comm, stream));
}

void collective_reduce_scatter(struct process_group *group, CUdeviceptr send, CUdeviceptr recv, size_t count,
			       ncclDataType_t type, CUstream stream)
{
	ncclComm_t comm = process_group_comm(group);

	NCCL_CHECK(ncclReduceScatter((void *)send, (void *)recv, count, type, ncclSum, comm, stream));
}

void collective_all_reduce(struct process_group *group, CUdeviceptr send, CUdeviceptr recv, size_t count,
			   ncclDataType_t type, ncclRedOp_t op, CUstream stream)
{
	ncclComm_t comm = process_group_comm(group);

	NCCL_CHECK(ncclAllReduce((void *)send, (void *)recv, count, type, op, comm, stream));
}

void collective_start(struct process_group *group)
{
	process_group_comm(group); /* which may have to be made, and not within a group */
	NCCL_CHECK(ncclGroupStart());
}

void collective_send(struct process_group *group, CUdeviceptr data, size_t count, ncclDataType_t type, int peer,
		     CUstream stream)
{
	NCCL_CHECK(ncclSend((void *)data, count, type, peer, process_group_comm(group), stream));
}

void collective_recv(struct process_group *group, CUdeviceptr data, size_t count, ncclDataType_t type, int peer,
		     CUstream stream)
{
	NCCL_CHECK(ncclRecv((void *)data, count, type, peer, process_group_comm(group), stream));
}

void collective_end(void)
{
	NCCL_CHECK(ncclGroupEnd());
}
