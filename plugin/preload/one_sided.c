/* SPDX-License-Identifier: MIT */
/* NCCL's one-sided calls. */
#include <stdint.h>

#include "plugin/operations/signals.h"
#include "plugin/preload/preload.h"

/* clang-format off */
PRELOAD_EXPORT int ncclPutSignal(const void *from, size_t count, int type, int peer, void *window, size_t offset,
				 int signal, int ctx, unsigned int flags, nccl_comm comm, nccl_stream stream);
PRELOAD_EXPORT int ncclSignal(int peer, int signal, int ctx, unsigned int flags, nccl_comm comm, nccl_stream stream);
PRELOAD_EXPORT int ncclWaitSignal(int count, void *signals, nccl_comm comm, nccl_stream stream);
/* clang-format on */

static int counted(struct membership *membership, int result)
{
	bool done = result == NCCL_SUCCESS;

	if (preload_is_on() && (done || result == NCCL_IN_PROGRESS))
		signals_count(!membership ? NULL
			      : done      ? membership_communicator(membership)
					  : membership_known(membership));
	return result;
}

int ncclPutSignal(const void *from, size_t count, int type, int peer, void *window, size_t offset, int signal, int ctx,
		  unsigned int flags, nccl_comm comm, nccl_stream stream)
{
	struct membership *membership = membership_find(comm);
	PRELOAD_REAL(PutSignal,
		     (const void *, size_t, int, int, void *, size_t, int, int, unsigned int, nccl_comm, nccl_stream),
		     membership);
	return counted(membership, real(from, count, type, peer, window, offset, signal, ctx, flags, comm, stream));
}

int ncclSignal(int peer, int signal, int ctx, unsigned int flags, nccl_comm comm, nccl_stream stream)
{
	struct membership *membership = membership_find(comm);
	PRELOAD_REAL(Signal, (int, int, int, unsigned int, nccl_comm, nccl_stream), membership);
	return counted(membership, real(peer, signal, ctx, flags, comm, stream));
}

/* Where NCCL goes on with the call on a thread of its own, the wait is not in the stream yet. */
int ncclWaitSignal(int count, void *signals, nccl_comm comm, nccl_stream stream)
{
	struct membership *membership = membership_find(comm);
	PRELOAD_REAL(WaitSignal, (int, void *, nccl_comm, nccl_stream), membership);
	int result = counted(membership, real(count, signals, comm, stream));

	if (preload_is_on() && membership && result == NCCL_SUCCESS)
		signals_wait(membership_communicator(membership), (uintptr_t)stream, call_in_group());
	return result;
}
