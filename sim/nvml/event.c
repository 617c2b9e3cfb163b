/* SPDX-License-Identifier: MIT */
/* Event sets: Xids that the script adds while a set is waited for. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "sim/nvml/library.h"
#include "sim/nvml/script.h"

enum { POLL_MS = 20 };

struct nvmlEventSet_st {
	bool registered[SCRIPT_DEVICES];
	size_t delivered[SCRIPT_DEVICES];
};

EXPORTED nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
	nvmlReturn_t result = library_enter(__func__);

	if (result != NVML_SUCCESS || !set)
		return result == NVML_SUCCESS ? NVML_ERROR_INVALID_ARGUMENT : result;
	*set = calloc(1, sizeof(**set));
	return *set ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

/* What happened before is no event. */
EXPORTED nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
	unsigned int number, xid;
	nvmlReturn_t result = library_enter_device(__func__, device, &number);

	if (result != NVML_SUCCESS || !set)
		return result == NVML_SUCCESS ? NVML_ERROR_INVALID_ARGUMENT : result;
	if (types & ~(unsigned long long)nvmlEventTypeXidCriticalError)
		return NVML_ERROR_NOT_SUPPORTED;
	set->registered[number] = true;
	set->delivered[number] = script_xids(number, SIZE_MAX, &xid);
	return NVML_SUCCESS;
}

static bool look(nvmlEventSet_t set, nvmlEventData_t *data)
{
	for (unsigned int i = 0; i < SCRIPT_DEVICES; i++) {
		unsigned int xid = 0;

		if (!set->registered[i] || script_xids(i, set->delivered[i], &xid) <= set->delivered[i])
			continue;
		set->delivered[i]++;
		*data = (nvmlEventData_t){ .device = library_device(i),
					   .eventType = nvmlEventTypeXidCriticalError,
					   .eventData = xid,
					   .gpuInstanceId = UINT32_MAX,
					   .computeInstanceId = UINT32_MAX };
		return true;
	}
	return false;
}

static void pause_for(unsigned int ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&pause, NULL);
}

EXPORTED nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms)
{
	nvmlReturn_t result = library_enter(__func__);

	if (result != NVML_SUCCESS || !set || !data)
		return result == NVML_SUCCESS ? NVML_ERROR_INVALID_ARGUMENT : result;
	/* Without a script nothing happens, and as with a driver nobody wakes up meanwhile. */
	unsigned int step_ms = script_exists() ? POLL_MS : timeout_ms;

	for (unsigned int waited = 0; !look(set, data); waited += step_ms) {
		if (waited >= timeout_ms)
			return NVML_ERROR_TIMEOUT;
		pause_for(step_ms);
	}
	return NVML_SUCCESS;
}

EXPORTED nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
	free(set);
	return library_enter(__func__);
}
