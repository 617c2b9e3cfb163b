/* SPDX-License-Identifier: MIT */
/* A CUDA driver of the release and with the GPU that the environment says. */
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

enum { COMPUTE_CAPABILITY_MAJOR = 75 };

EXPORT int cuInit(unsigned flags);
EXPORT int cuDriverGetVersion(int *version);
EXPORT int cuDeviceGet(int *device, int ordinal);
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);

static int number(const char *name)
{
	const char *value = getenv(name);

	return value ? (int)strtol(value, NULL, 10) : 0;
}

int cuInit(unsigned flags)
{
	(void)flags;
	return number("FAKE_CUDA_ERROR");
}

int cuDriverGetVersion(int *version)
{
	*version = number("FAKE_CUDA_VERSION");
	return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	(void)device;
	*value = attribute == COMPUTE_CAPABILITY_MAJOR ? number("FAKE_CUDA_MAJOR") : 0;
	return 0;
}
