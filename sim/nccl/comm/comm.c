/* SPDX-License-Identifier: MIT */
#include "sim/nccl/comm/comm.h"

#include <sys/eventfd.h>

static const char *const function_names[FUNCTIONS] = { "AllGather", "AllReduce", "Broadcast", "Reduce", "ReduceScatter",
						       "Send",      "Recv",      "AlltoAll",  "Gather", "Scatter" };

const char *function_name(enum function function)
{
	return function_names[function];
}

void comm_plan_started(struct ncclComm *comm)
{
	pthread_mutex_lock(&comm->lock);
	comm->running++;
	pthread_mutex_unlock(&comm->lock);
}

void comm_plan_done(struct ncclComm *comm)
{
	pthread_mutex_lock(&comm->lock);
	if (--comm->running == 0)
		pthread_cond_broadcast(&comm->idle);
	pthread_mutex_unlock(&comm->lock);
}

void comm_set_async_error(struct ncclComm *comm, ncclResult_t error)
{
	ncclResult_t none = ncclSuccess;

	atomic_compare_exchange_strong(&comm->async_error, &none, error);
}

void comm_wake_proxy(struct ncclComm *comm)
{
	int fd = atomic_load(&comm->wake_fd);

	if (fd >= 0)
		eventfd_write(fd, 1);
}
