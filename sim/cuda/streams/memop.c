/* SPDX-License-Identifier: MIT */
/*
 * Stream memory operations. A write wakes the waits of this process at once; a value that the host or another process
 * stores is seen within WAIT_POLL_NS, because a plain store wakes nobody.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "sim/cuda/devices/memory.h"
#include "sim/cuda/driver/calls.h"
#include "sim/cuda/streams/stream.h"

#define WAIT_POLL_NS 2000000

struct memop {
	CUstreamBatchMemOpType operation;
	unsigned int flags;
	void *address;
	uint64_t value;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t written;
static atomic_uint waiters;

static bool is_wide(CUstreamBatchMemOpType operation)
{
	return operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 || operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

static void run_write(void *payload)
{
	const struct memop *op = payload;

	if (is_wide(op->operation))
		__atomic_store_n((uint64_t *)op->address, op->value, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n((uint32_t *)op->address, (uint32_t)op->value, __ATOMIC_SEQ_CST);
	/* Sequentially consistent with the waiter: either it sees the value or this sees the waiter. */
	if (!atomic_load(&waiters))
		return;
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&written);
	pthread_mutex_unlock(&lock);
}

static bool is_satisfied(const struct memop *op)
{
	bool wide = is_wide(op->operation);
	uint64_t now = wide ? __atomic_load_n((uint64_t *)op->address, __ATOMIC_SEQ_CST)
			    : __atomic_load_n((uint32_t *)op->address, __ATOMIC_SEQ_CST);

	switch (op->flags & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ: /* cyclic, as documented */
		return wide ? (int64_t)(now - op->value) >= 0 : (int32_t)((uint32_t)now - (uint32_t)op->value) >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return now == op->value;
	case CU_STREAM_WAIT_VALUE_AND:
		return now & op->value;
	default:
		return wide ? ~(now | op->value) != 0 : (uint32_t) ~(now | op->value) != 0;
	}
}

static void wait_a_moment(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += WAIT_POLL_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&written, &lock, &until);
}

static void run_wait(void *payload)
{
	const struct memop *op = payload;

	atomic_fetch_add(&waiters, 1);
	pthread_mutex_lock(&lock);
	while (!is_satisfied(op))
		wait_a_moment();
	pthread_mutex_unlock(&lock);
	atomic_fetch_sub(&waiters, 1);
}

static const struct task_kind write_task = { CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, run_write, NULL, QUEUE_AT_ONCE };
static const struct task_kind wait_task = { CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, run_wait, NULL, QUEUE_WHEN_IT_ENDS };

static void make_condition(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&written, &attributes);
	pthread_condattr_destroy(&attributes);
}

static CUresult memop_submit(CUstream handle, const struct memop *op)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	bool write =
	    op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 || op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
	size_t width = is_wide(op->operation) ? 8 : 4;
	struct memory_range range;
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if ((uintptr_t)op->address % width || !memory_find((uintptr_t)op->address, width, &range))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_once(&once, make_condition);
	return stream_submit(stream, write ? &write_task : &wait_task, op, sizeof(*op), NULL);
}

CUresult sim_cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
	return memop_submit(
	    stream, &(struct memop){ CU_STREAM_MEM_OP_WRITE_VALUE_32, flags, (void *)(uintptr_t)address, value });
}

CUresult sim_cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
	return memop_submit(
	    stream, &(struct memop){ CU_STREAM_MEM_OP_WRITE_VALUE_64, flags, (void *)(uintptr_t)address, value });
}

CUresult sim_cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
	return memop_submit(
	    stream, &(struct memop){ CU_STREAM_MEM_OP_WAIT_VALUE_32, flags, (void *)(uintptr_t)address, value });
}

CUresult sim_cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
	return memop_submit(
	    stream, &(struct memop){ CU_STREAM_MEM_OP_WAIT_VALUE_64, flags, (void *)(uintptr_t)address, value });
}

CUresult sim_cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *params,
				unsigned int flags)
{
	CUresult result = CUDA_SUCCESS;

	if (flags || count > 256 || (count && !params))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < count && result == CUDA_SUCCESS; i++) {
		CUstreamBatchMemOpType operation = params[i].operation;
		/* Waits and writes have the same layout; a barrier or flush is implied between tasks. */
		struct memop op = { operation, params[i].waitValue.flags,
				    (void *)(uintptr_t)params[i].waitValue.address,
				    is_wide(operation) ? params[i].waitValue.value64 : params[i].waitValue.value };
		if (operation == CU_STREAM_MEM_OP_BARRIER || operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES)
			continue;
		if ((unsigned int)operation < 1 || operation > CU_STREAM_MEM_OP_BARRIER)
			return CUDA_ERROR_INVALID_VALUE;
		result = memop_submit(stream, &op);
	}
	return result;
}
