/* SPDX-License-Identifier: MIT */
/* A short visit to a device's primary context, which CUDA's runtime and so NCCL use. Not on a collective's path. */
#ifndef PLUGIN_GPU_DEVICE_H
#define PLUGIN_GPU_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/gpu/driver.h"

struct device_visit {
	struct driver driver;
	int device;
	bool entered;
};

/* Makes the device current on this thread unless it is; without a driver or a device (< 0) nothing happens. leave: as
 * it was before. */
struct device_visit device_enter(int32_t device);
void device_leave(const struct device_visit *visit);

#endif
