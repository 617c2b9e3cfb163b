/* SPDX-License-Identifier: MIT */
#include "plugin/gpu/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

struct call {
	const char *name;
	size_t offset;
	bool optional;
};

#define CALL(member) offsetof(struct driver, member)

/* Plain exported names mean the legacy default stream for stream 0, which is what NCCL means by it. */
static const struct call calls[] = {
	{ "cuDriverGetVersion", CALL(version) },
	{ "cuCtxGetCurrent", CALL(context_current) },
	{ "cuCtxGetDevice", CALL(context_device) },
	{ "cuCtxPushCurrent_v2", CALL(context_push) },
	{ "cuCtxPopCurrent_v2", CALL(context_pop) },
	{ "cuDevicePrimaryCtxRetain", CALL(primary_retain) },
	{ "cuDevicePrimaryCtxRelease_v2", CALL(primary_release) },
	{ "cuDeviceGetAttribute", CALL(device_attribute) },
	{ "cuDeviceGetUuid", CALL(device_uuid) },
	{ "cuDeviceGetPCIBusId", CALL(device_pci) },
	{ "cuMemHostRegister_v2", CALL(host_register) },
	{ "cuMemHostGetDevicePointer_v2", CALL(host_device_pointer) },
	{ "cuStreamIsCapturing", CALL(stream_capturing) },
	{ "cuStreamWriteValue64_v2", CALL(stream_write), true }, /* CUDA 11.7 */
	{ "cuStreamWriteValue64", CALL(stream_write_v1), true },
};

int driver_open(struct driver *driver)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	*driver = (struct driver){ 0 };
	if (!library)
		library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *function = dlsym(library, calls[i].name);

		if (!function && !calls[i].optional)
			return -ENOSYS;
		*(void **)((char *)driver + calls[i].offset) = function;
	}
	return 0; /* the library stays open for the life of the process, as we do */
}
