/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cuda/devices/memory.h"
#include "sim/cuda/driver/calls.h"
#include "sim/cuda/graphs/capture.h"
#include "sim/cuda/streams/host_wait.h"
#include "sim/cuda/streams/stream.h"

struct copy {
	void *to;
	const void *from;
	size_t size;
	void *staging; /* freed after the copy */
};

static void run_copy(void *payload)
{
	struct copy *copy = payload;

	memmove(copy->to, copy->from, copy->size);
}

static void drop_copy(void *payload)
{
	free(((struct copy *)payload)->staging);
}

static const struct task_kind copy_task = { CU_GRAPH_NODE_TYPE_MEMCPY, run_copy, drop_copy, QUEUE_NOT };

static bool known(CUdeviceptr address, size_t size)
{
	struct memory_range range;

	return memory_find(address, size, &range);
}

/*
 * Memory the driver does not know is pageable host memory: as on a GPU, an asynchronous copy from it returns when the
 * source has been staged, one into it when the copy is done.
 */
static CUresult copy_submit(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream handle, bool wait)
{
	struct copy copy = { (void *)(uintptr_t)to, (const void *)(uintptr_t)from, size, NULL };
	struct stream_point done;
	CUstream stream;
	bool captured;
	CUresult result = stream_resolve(handle, &stream);

	if (result != CUDA_SUCCESS || !size)
		return result;
	result = capture_covers(stream, &captured);
	if (result != CUDA_SUCCESS)
		return result;
	wait |= !known(to, size);
	/* A captured copy reads its source at each replay. */
	if (!captured && !wait && !known(from, size)) {
		copy.staging = malloc(size);
		if (!copy.staging)
			return CUDA_ERROR_OUT_OF_MEMORY;
		copy.from = memcpy(copy.staging, copy.from, size);
	}
	result = stream_submit(stream, &copy_task, &copy, sizeof(copy), &done);
	if (result != CUDA_SUCCESS) {
		free(copy.staging);
		return result;
	}
	if (wait)
		host_wait(&done);
	stream_point_drop(&done);
	return CUDA_SUCCESS;
}

static CUresult copy_checked(CUdeviceptr to, bool to_device, CUdeviceptr from, bool from_device, size_t size,
			     CUstream handle, bool wait)
{
	if ((size && (!to || !from)) || (to_device && size && !known(to, size)) ||
	    (from_device && size && !known(from, size)))
		return CUDA_ERROR_INVALID_VALUE;
	return copy_submit(to, from, size, handle, wait);
}

CUresult sim_cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size)
{
	return copy_checked(to, false, from, false, size, NULL, true);
}

CUresult sim_cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t size)
{
	return copy_checked(to, true, (uintptr_t)from, false, size, NULL, true);
}

CUresult sim_cuMemcpyDtoH(void *to, CUdeviceptr from, size_t size)
{
	return copy_checked((uintptr_t)to, false, from, true, size, NULL, true);
}

CUresult sim_cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t size)
{
	return copy_checked(to, true, from, true, size, NULL, false);
}

CUresult sim_cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
	return copy_checked(to, false, from, false, size, stream, false);
}

CUresult sim_cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
	return copy_checked(to, true, (uintptr_t)from, false, size, stream, false);
}

CUresult sim_cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
	return copy_checked((uintptr_t)to, false, from, true, size, stream, false);
}

CUresult sim_cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
	return copy_checked(to, true, from, true, size, stream, false);
}

struct fill {
	void *to;
	size_t count;
	uint32_t value;
	uint32_t width; /* bytes per element: 1 or 4 */
};

static void run_fill(void *payload)
{
	struct fill *fill = payload;
	uint32_t *words = fill->to;

	if (fill->width == 1) {
		memset(fill->to, (int)fill->value, fill->count);
		return;
	}
	for (size_t i = 0; i < fill->count; i++)
		words[i] = fill->value;
}

static const struct task_kind fill_task = { CU_GRAPH_NODE_TYPE_MEMSET, run_fill, NULL, QUEUE_WHEN_IT_BEGINS };

static CUresult fill_submit(const struct fill *fill, CUstream handle)
{
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result != CUDA_SUCCESS || !fill->count)
		return result;
	if ((uintptr_t)fill->to % fill->width || !known((uintptr_t)fill->to, fill->count * fill->width))
		return CUDA_ERROR_INVALID_VALUE;
	return stream_submit(stream, &fill_task, fill, sizeof(*fill), NULL);
}

CUresult sim_cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
	return fill_submit(&(struct fill){ (void *)(uintptr_t)to, count, value, 1 }, stream);
}

CUresult sim_cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream)
{
	return fill_submit(&(struct fill){ (void *)(uintptr_t)to, count, value, 4 }, stream);
}

CUresult sim_cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count)
{
	return sim_cuMemsetD8Async(to, value, count, NULL);
}

CUresult sim_cuMemsetD32(CUdeviceptr to, unsigned int value, size_t count)
{
	return sim_cuMemsetD32Async(to, value, count, NULL);
}
