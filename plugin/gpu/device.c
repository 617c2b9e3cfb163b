/* SPDX-License-Identifier: MIT */
#include "plugin/gpu/device.h"

struct device_visit device_enter(int32_t device)
{
	struct device_visit visit = { .device = device };
	driver_context context;
	int current;

	if (device < 0 || driver_open(&visit.driver) != 0)
		return visit;
	if (visit.driver.context_device(&current) == 0 && current == device)
		return visit;
	if (visit.driver.primary_retain(&context, device) != 0)
		return visit;
	visit.entered = visit.driver.context_push(context) == 0;
	if (!visit.entered)
		visit.driver.primary_release(device);
	return visit;
}

void device_leave(const struct device_visit *visit)
{
	driver_context context;

	if (!visit->entered)
		return;
	visit->driver.context_pop(&context);
	visit->driver.primary_release(visit->device);
}
