/* SPDX-License-Identifier: MIT */
#include <stdint.h>

#include "sim/cuda/devices/context.h"
#include "sim/cuda/devices/device.h"
#include "sim/cuda/devices/memory.h"
#include "sim/cuda/driver/calls.h"

static CUresult range_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer,
				const struct memory_range *range)
{
	bool device = range->kind == MEMORY_DEVICE;

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = range->context;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)data = device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)data = pointer;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (device)
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)data = (void *)(uintptr_t)pointer;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)data = range->id;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned int *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = range->context->device;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = range->base;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = range->size;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(unsigned int *)data = 1;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer)
{
	struct memory_range range;
	CUresult result = device_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!data || !memory_find(pointer, 1, &range))
		return CUDA_ERROR_INVALID_VALUE;
	return range_attribute(data, attribute, pointer, &range);
}

/* Unlike the single form this one succeeds for memory the driver does not know: its answers are then 0. */
CUresult sim_cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data,
				    CUdeviceptr pointer)
{
	CUresult result = device_ready();

	if (result != CUDA_SUCCESS)
		return result;
	for (unsigned int i = 0; i < count; i++) {
		bool narrow = attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ||
			      attributes[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED ||
			      attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ||
			      attributes[i] == CU_POINTER_ATTRIBUTE_MAPPED;
		if (sim_cuPointerGetAttribute(data[i], attributes[i], pointer) == CUDA_SUCCESS)
			continue;
		if (narrow)
			*(int *)data[i] = attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? CU_DEVICE_INVALID : 0;
		else
			*(void **)data[i] = NULL;
	}
	return CUDA_SUCCESS;
}
