/* SPDX-License-Identifier: MIT */
#include "sim/nvml/library.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cuda/devices/visible.h"
#include "sim/nvml/script.h"

static atomic_int initialised; /* nvmlInit and nvmlShutdown come in pairs, and nest */

nvmlReturn_t library_enter(const char *call)
{
	if (atomic_load(&initialised) <= 0)
		return NVML_ERROR_UNINITIALIZED;
	return script_call(call);
}

/* A handle is the device's number + 1. */
nvmlDevice_t library_device(unsigned int number)
{
	return (nvmlDevice_t)(uintptr_t)(number + 1);
}

nvmlReturn_t library_enter_device(const char *call, nvmlDevice_t device, unsigned int *number)
{
	uintptr_t handle = (uintptr_t)device;
	nvmlReturn_t result = library_enter(call);

	if (result != NVML_SUCCESS)
		return result;
	if (!handle || handle > (uintptr_t)visible_host_devices())
		return NVML_ERROR_INVALID_ARGUMENT;
	*number = (unsigned int)handle - 1;
	return NVML_SUCCESS;
}

static void say_what_this_is(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	const char *quiet = getenv("SIM_QUIET");

	if (!(quiet && *quiet && strcmp(quiet, "0") != 0) && !atomic_flag_test_and_set(&said))
		fputs("stand-in NVML: this libnvidia-ml.so.1 is rankwatch's, its GPUs' health is made up (SIM_NVML)\n",
		      stderr);
}

EXPORTED nvmlReturn_t nvmlInit_v2(void)
{
	nvmlReturn_t result = script_call(__func__);

	say_what_this_is();
	if (result == NVML_SUCCESS)
		atomic_fetch_add(&initialised, 1);
	return result;
}

EXPORTED nvmlReturn_t nvmlShutdown(void)
{
	nvmlReturn_t result = library_enter(__func__);

	if (result == NVML_SUCCESS)
		atomic_fetch_sub(&initialised, 1);
	return result;
}

EXPORTED const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
	case NVML_SUCCESS:
		return "Success";
	case NVML_ERROR_UNINITIALIZED:
		return "Uninitialized";
	case NVML_ERROR_INVALID_ARGUMENT:
		return "Invalid Argument";
	case NVML_ERROR_NOT_SUPPORTED:
		return "Not Supported";
	case NVML_ERROR_TIMEOUT:
		return "Timeout";
	case NVML_ERROR_GPU_IS_LOST:
		return "GPU is lost";
	case NVML_ERROR_RESET_REQUIRED:
		return "GPU requires reset";
	default:
		return "Unknown Error";
	}
}

EXPORTED nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	nvmlReturn_t result = library_enter(__func__);

	if (result == NVML_SUCCESS && !version)
		result = NVML_ERROR_INVALID_ARGUMENT;
	if (result == NVML_SUCCESS && snprintf(version, length, "580.00.00") >= (int)length)
		result = NVML_ERROR_INSUFFICIENT_SIZE;
	return result;
}

EXPORTED nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
	nvmlReturn_t result = library_enter(__func__);

	if (result == NVML_SUCCESS && !count)
		result = NVML_ERROR_INVALID_ARGUMENT;
	if (result == NVML_SUCCESS)
		*count = (unsigned int)visible_host_devices();
	return result;
}

EXPORTED nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	nvmlReturn_t result = library_enter(__func__);

	if (result == NVML_SUCCESS && (!device || index >= (unsigned int)visible_host_devices()))
		result = NVML_ERROR_INVALID_ARGUMENT;
	if (result == NVML_SUCCESS)
		*device = library_device(index);
	return result;
}
