/* SPDX-License-Identifier: MIT */
#include "plugin/gpu/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

enum need { ALWAYS, MAYBE, TO_SCAN };

struct call {
	const char *name;
	size_t offset;
	enum need need;
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
	{ "cuStreamWriteValue64_v2", CALL(stream_write), MAYBE }, /* CUDA 11.7 */
	{ "cuStreamWriteValue64", CALL(stream_write_v1), MAYBE },
	{ "cuThreadExchangeStreamCaptureMode", CALL(capture_mode) },
	{ "cuModuleLoadData", CALL(scan.module_load), TO_SCAN },
	{ "cuModuleGetFunction", CALL(scan.module_function), TO_SCAN },
	{ "cuFuncLoad", CALL(scan.function_load), MAYBE },
	{ "cuMemAlloc_v2", CALL(scan.memory_allocate), TO_SCAN },
	{ "cuMemsetD8Async", CALL(scan.memory_set), TO_SCAN },
	{ "cuMemcpyHtoDAsync_v2", CALL(scan.memory_copy), TO_SCAN },
	{ "cuStreamCreate", CALL(scan.stream_create), TO_SCAN },
	{ "cuStreamDestroy_v2", CALL(scan.stream_destroy), TO_SCAN },
	{ "cuStreamSynchronize", CALL(scan.stream_synchronize), TO_SCAN },
	{ "cuLaunchKernel", CALL(scan.launch), TO_SCAN },
	{ "cuPointerGetAttributes", CALL(scan.pointer_attributes), TO_SCAN },
};

int driver_open(struct driver *driver)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	bool can_scan = true;

	*driver = (struct driver){ 0 };
	if (!library)
		library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *function = dlsym(library, calls[i].name);

		if (!function && calls[i].need == ALWAYS)
			return -ENOSYS;
		can_scan &= function || calls[i].need != TO_SCAN;
		*(void **)((char *)driver + calls[i].offset) = function;
	}
	if (!can_scan)
		driver->scan = (struct driver_scan){ 0 };
	return 0; /* the library stays open for the life of the process, as we do */
}
