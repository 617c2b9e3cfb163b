/* SPDX-License-Identifier: MIT */
#include "collector/sources/machine/nvml_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The second name is what older drivers call it. */
static const struct {
	const char *name, *older;
	size_t offset;
	bool needed;
} functions[] = {
#define FUNCTION(field) offsetof(struct nvml_library, field)
	{ "nvmlInit_v2", NULL, FUNCTION(init), true },
	{ "nvmlShutdown", NULL, FUNCTION(shutdown), true },
	{ "nvmlErrorString", NULL, FUNCTION(error_string), true },
	{ "nvmlDeviceGetCount_v2", NULL, FUNCTION(device_count), true },
	{ "nvmlDeviceGetHandleByIndex_v2", NULL, FUNCTION(device_by_index), true },
	{ "nvmlDeviceGetUUID", NULL, FUNCTION(uuid), true },
	{ "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", FUNCTION(pci), true },
	{ "nvmlDeviceGetClockInfo", NULL, FUNCTION(clock), false },
	{ "nvmlDeviceGetMaxClockInfo", NULL, FUNCTION(clock_max), false },
	{ "nvmlDeviceGetTemperature", NULL, FUNCTION(temperature), false },
	{ "nvmlDeviceGetPowerUsage", NULL, FUNCTION(power), false },
	{ "nvmlDeviceGetEnforcedPowerLimit", NULL, FUNCTION(power_limit), false },
	{ "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",
	  FUNCTION(clock_reasons), false },
	{ "nvmlDeviceGetTotalEccErrors", NULL, FUNCTION(ecc), false },
	{ "nvmlDeviceGetRemappedRows", NULL, FUNCTION(remapped_rows), false },
	{ "nvmlDeviceGetMemoryInfo", NULL, FUNCTION(memory), false },
	{ "nvmlDeviceGetFieldValues", NULL, FUNCTION(fields), false },
	{ "nvmlEventSetCreate", NULL, FUNCTION(event_set), false },
	{ "nvmlDeviceRegisterEvents", NULL, FUNCTION(event_register), false },
	{ "nvmlEventSetWait_v2", NULL, FUNCTION(event_wait), false },
	{ "nvmlEventSetFree", NULL, FUNCTION(event_free), false },
#undef FUNCTION
};

int nvml_library_open(struct nvml_library *library, const char *file, char *why, size_t room)
{
	*library = (struct nvml_library){ .handle = dlopen(file, RTLD_NOW | RTLD_LOCAL) };
	if (!library->handle) {
		snprintf(why, room, "%s cannot be loaded", file);
		return -ENOENT;
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *found = dlsym(library->handle, functions[i].name);

		if (!found && functions[i].older)
			found = dlsym(library->handle, functions[i].older);
		if (!found && functions[i].needed) {
			snprintf(why, room, "%s has no %s", file, functions[i].name);
			nvml_library_close(library);
			return -ENOSYS;
		}
		memcpy((char *)library + functions[i].offset, &found, sizeof(found));
	}
	return 0;
}

void nvml_library_close(struct nvml_library *library)
{
	if (library->handle)
		dlclose(library->handle);
	library->handle = NULL;
}
