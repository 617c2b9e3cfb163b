/* SPDX-License-Identifier: MIT */
#include "sim/nccl/comm/state.h"

#include <sys/eventfd.h>

#include "sim/nccl/comm/comm.h"

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
	if (comm->proxy.running)
		eventfd_write(comm->proxy.wake_fd, 1);
}
