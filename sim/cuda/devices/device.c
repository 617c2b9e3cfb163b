/* SPDX-License-Identifier: MIT */
#include "sim/cuda/devices/device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sim/cuda/devices/visible.h"
#include "sim/cuda/driver/calls.h"

static atomic_bool initialised, forked;
static int host_count, device_count, physical[DEVICES_MAX];

static void after_fork_in_child(void)
{
	/* The stream threads did not survive the fork: nothing could ever complete. */
	if (atomic_load(&initialised))
		atomic_store(&forked, true);
}

static void initialise(void)
{
	host_count = visible_host_devices();
	device_count = visible_devices(host_count, physical);
	pthread_atfork(NULL, NULL, after_fork_in_child);
	atomic_store(&initialised, true);
}

CUresult device_ready(void)
{
	return atomic_load(&initialised) && !atomic_load(&forked) ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult device_check(CUdevice device)
{
	CUresult result = device_ready();

	if (result != CUDA_SUCCESS)
		return result;
	return device >= 0 && device < device_count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

int device_host_count(void)
{
	return host_count;
}

int device_minor(CUdevice device)
{
	return physical[device];
}

CUresult device_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, initialise);
	if (atomic_load(&forked))
		return CUDA_ERROR_NOT_INITIALIZED;
	return device_count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult sim_cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = DEVICE_DRIVER_VERSION;
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGet(CUdevice *device, int ordinal)
{
	CUresult result = device_check(ordinal);

	if (result == CUDA_SUCCESS)
		*device = ordinal;
	return result;
}

CUresult sim_cuDeviceGetCount(int *count)
{
	CUresult result = device_ready();

	if (result == CUDA_SUCCESS)
		*count = device_count;
	return result;
}

CUresult sim_cuDeviceGetName(char *name, int len, CUdevice device)
{
	CUresult result = device_check(device);

	if (result == CUDA_SUCCESS && (!name || len <= 0))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		snprintf(name, (size_t)len, "Stand-in CPU device");
	return result;
}

CUresult sim_cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	CUresult result = device_check(device);

	if (result != CUDA_SUCCESS)
		return result;
	visible_uuid(physical[device], uuid);
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetPCIBusId(char *text, int len, CUdevice device)
{
	CUresult result = device_check(device);

	if (result == CUDA_SUCCESS && (!text || len < 13))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		snprintf(text, (size_t)len, "0000:%02X:00.0",
			 (unsigned int)(VISIBLE_FIRST_PCI_BUS + physical[device]) & 0xff);
	return result;
}

static const struct {
	CUdevice_attribute attribute;
	int value;
} attributes[] = {
	{ CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024 },
	{ CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32 },
	{ CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000 },
	{ CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, DEVICE_MULTIPROCESSORS },
	{ CU_DEVICE_ATTRIBUTE_INTEGRATED, 0 },
	{ CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1 },
	{ CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1 },
	{ CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0 },
	{ CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 1 },
	{ CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1 },
	{ CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0 },
	{ CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9 },
	{ CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0 },
	{ CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1 },
	{ CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1 },
	{ CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1 },
};

CUresult sim_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	CUresult result = device_check(device);

	if (result != CUDA_SUCCESS)
		return result;
	if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) {
		*value = VISIBLE_FIRST_PCI_BUS + physical[device];
		return CUDA_SUCCESS;
	}
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		if (attributes[i].attribute == attribute) {
			*value = attributes[i].value;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
	CUresult result = device_check(device);

	if (result == CUDA_SUCCESS)
		*bytes = DEVICE_MEMORY_BYTES;
	return result;
}
