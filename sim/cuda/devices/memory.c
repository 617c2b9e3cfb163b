/* SPDX-License-Identifier: MIT */
#include "sim/cuda/devices/memory.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/cuda/devices/context.h"
#include "sim/cuda/devices/device.h"
#include "sim/cuda/driver/calls.h"
#include "sim/cuda/streams/stream.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory_range *ranges;
static unsigned long long ids;
static size_t device_bytes[DEVICES_MAX];

bool memory_find(CUdeviceptr address, size_t size, struct memory_range *range)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (struct memory_range *at = ranges; at && !found; at = at->next) {
		found = address >= at->base && address - at->base < at->size && size <= at->size - (address - at->base);
		if (found)
			*range = *at;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static bool overlaps(unsigned long long base, size_t size)
{
	for (struct memory_range *at = ranges; at; at = at->next) {
		if (base < at->base + at->size && at->base < base + size)
			return true;
	}
	return false;
}

static CUresult range_add(void *base, size_t size, enum memory_kind kind, CUcontext context)
{
	struct memory_range *range = malloc(sizeof(*range));
	CUresult result = range ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	pthread_mutex_lock(&lock);
	if (range && kind == MEMORY_REGISTERED && overlaps((uintptr_t)base, size))
		result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	if (range && kind == MEMORY_DEVICE && size > DEVICE_MEMORY_BYTES - device_bytes[context->device])
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (result == CUDA_SUCCESS) {
		*range = (struct memory_range){ ranges, (uintptr_t)base, ++ids, size, kind, context };
		ranges = range;
		if (kind == MEMORY_DEVICE)
			device_bytes[context->device] += size;
	}
	pthread_mutex_unlock(&lock);
	if (result != CUDA_SUCCESS)
		free(range);
	return result;
}

static bool range_remove(CUdeviceptr base, enum memory_kind kind, struct memory_range *removed)
{
	struct memory_range *found = NULL;

	pthread_mutex_lock(&lock);
	for (struct memory_range **at = &ranges; *at && !found; at = &(*at)->next) {
		if ((*at)->base != base || (*at)->kind != kind)
			continue;
		found = *at;
		*at = found->next;
		break;
	}
	if (found && kind == MEMORY_DEVICE)
		device_bytes[found->context->device] -= found->size;
	pthread_mutex_unlock(&lock);
	if (!found)
		return false;
	*removed = *found;
	free(found);
	return true;
}

void memory_forget(CUcontext context)
{
	struct memory_range *forgotten = NULL, *range;

	pthread_mutex_lock(&lock);
	for (struct memory_range **at = &ranges; *at;) {
		range = *at;
		if (range->context != context) {
			at = &range->next;
			continue;
		}
		*at = range->next;
		range->next = forgotten;
		forgotten = range;
		if (range->kind == MEMORY_DEVICE)
			device_bytes[context->device] -= range->size;
	}
	pthread_mutex_unlock(&lock);
	while ((range = forgotten)) {
		forgotten = range->next;
		if (range->kind != MEMORY_REGISTERED)
			munmap((void *)(uintptr_t)range->base, range->size);
		free(range);
	}
}

static CUresult range_map(void **base, size_t size, enum memory_kind kind)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!base || !size)
		return CUDA_ERROR_INVALID_VALUE;
	*base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (*base == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = range_add(*base, size, kind, context);
	if (result != CUDA_SUCCESS)
		munmap(*base, size);
	return result;
}

/* As on a GPU, freeing waits until the context is idle. */
static CUresult range_unmap(CUdeviceptr base, enum memory_kind kind)
{
	struct memory_range range;
	CUcontext context;
	CUresult result = context_current(&context);

	if (result == CUDA_ERROR_NOT_INITIALIZED || !base)
		return result;
	if (!memory_find(base, 1, &range) || range.base != base || range.kind != kind)
		return CUDA_ERROR_INVALID_VALUE;
	streams_drain(range.context);
	if (range_remove(base, kind, &range))
		munmap((void *)(uintptr_t)range.base, range.size);
	return CUDA_SUCCESS;
}

CUresult sim_cuMemAlloc(CUdeviceptr *pointer, size_t size)
{
	void *base;
	CUresult result = pointer ? range_map(&base, size, MEMORY_DEVICE) : CUDA_ERROR_INVALID_VALUE;

	if (result == CUDA_SUCCESS)
		*pointer = (uintptr_t)base;
	return result;
}

CUresult sim_cuMemFree(CUdeviceptr pointer)
{
	return range_unmap(pointer, MEMORY_DEVICE);
}

CUresult sim_cuMemHostAlloc(void **pointer, size_t size, unsigned int flags)
{
	if (flags & ~(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED))
		return CUDA_ERROR_INVALID_VALUE;
	return range_map(pointer, size, MEMORY_PINNED);
}

CUresult sim_cuMemAllocHost(void **pointer, size_t size)
{
	return sim_cuMemHostAlloc(pointer, size, 0);
}

CUresult sim_cuMemFreeHost(void *pointer)
{
	return range_unmap((uintptr_t)pointer, MEMORY_PINNED);
}

static bool is_mapped(const void *base, size_t size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)base & ~(page - 1);
	unsigned char *resident = malloc((size + page) / page + 1);
	bool mapped = resident && mincore((void *)from, (uintptr_t)base + size - from, resident) == 0;

	free(resident);
	return mapped;
}

CUresult sim_cuMemHostRegister(void *base, size_t size, unsigned int flags)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!base || !size || flags & ~0xfu || !is_mapped(base, size))
		return CUDA_ERROR_INVALID_VALUE;
	return range_add(base, size, MEMORY_REGISTERED, context);
}

CUresult sim_cuMemHostUnregister(void *base)
{
	struct memory_range range;
	CUresult result = device_ready();

	if (result != CUDA_SUCCESS)
		return result;
	return range_remove((uintptr_t)base, MEMORY_REGISTERED, &range) ? CUDA_SUCCESS
									: CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult sim_cuMemHostGetDevicePointer(CUdeviceptr *device, void *host, unsigned int flags)
{
	struct memory_range range;

	if (!device || flags || !memory_find((uintptr_t)host, 1, &range) || range.kind == MEMORY_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	*device = (uintptr_t)host;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemGetInfo(size_t *left, size_t *total)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&lock);
	*left = DEVICE_MEMORY_BYTES - device_bytes[context->device];
	pthread_mutex_unlock(&lock);
	*total = DEVICE_MEMORY_BYTES;
	return CUDA_SUCCESS;
}
