/* SPDX-License-Identifier: MIT */
#include "tests/null/null_cuda.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/null/null_kernel.h"

#define EXPORT __attribute__((visibility("default")))

enum { MEMORY_IS_DEVICE = 2, TABLE = 64 };

static struct {
	const char *name;
	atomic_ulong calls;
} counted[TABLE];
static int is_capturing;
static bool scans_nothing;
static const char *_Atomic blocked;
static atomic_int standing;
static char contexts[8];
static _Thread_local int current; /* context */

/* The names are literals of this file, one a function. */
static void count(const char *name)
{
	for (int i = 0; i < TABLE; i++) {
		const char *none = NULL;

		if (__atomic_load_n(&counted[i].name, __ATOMIC_RELAXED) != name &&
		    !__atomic_compare_exchange_n(&counted[i].name, &none, name, 0, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED) &&
		    none != name)
			continue;
		atomic_fetch_add(&counted[i].calls, 1);
		return;
	}
}

EXPORT unsigned long null_cuda_calls(const char *name)
{
	unsigned long calls = 0;

	for (int i = 0; i < TABLE && counted[i].name; i++)
		if (!name || strcmp(counted[i].name, name) == 0)
			calls += atomic_load(&counted[i].calls);
	return calls;
}

EXPORT void null_cuda_capture(int capturing)
{
	is_capturing = capturing;
}

EXPORT void null_cuda_scan_nothing(void)
{
	scans_nothing = true;
}

EXPORT void null_cuda_context(int number)
{
	current = number;
}

EXPORT void null_cuda_block(const char *name)
{
	blocked = name;
}

EXPORT int null_cuda_is_blocked(void)
{
	return standing;
}

static void stand(const char *name)
{
	const char *now = blocked;

	if (!now || strcmp(now, name) != 0)
		return;
	if (standing++ == 0)
		while (blocked)
			usleep(1000);
	standing--;
}

static void enter(const char *name)
{
	count(name);
	stand(name);
}

#define FUNCTION(name, parameters, arguments)                                                                          \
	EXPORT int name parameters;                                                                                    \
	static int do_##name parameters;                                                                               \
	int name parameters                                                                                            \
	{                                                                                                              \
		static const char own_name[] = #name;                                                                  \
                                                                                                                       \
		enter(own_name);                                                                                       \
		return do_##name arguments;                                                                            \
	}                                                                                                              \
	static int do_##name parameters

/* clang-format off */
FUNCTION(cuDriverGetVersion, (int *version), (version)) { *version = 12080; return 0; }
FUNCTION(cuCtxGetCurrent, (void **context), (context)) { *context = &contexts[current]; return 0; }
FUNCTION(cuCtxGetDevice, (int *device), (device)) { *device = current; return 0; }
FUNCTION(cuCtxPushCurrent_v2, (void *context), (context)) { (void)context; return 0; }
FUNCTION(cuCtxPopCurrent_v2, (void **context), (context)) { *context = &contexts[current]; return 0; }
FUNCTION(cuDevicePrimaryCtxRetain, (void **context, int device), (context, device))
{ (void)device; *context = &contexts[current]; return 0; }
FUNCTION(cuDevicePrimaryCtxRelease_v2, (int device), (device)) { (void)device; return 0; }
FUNCTION(cuDeviceGetAttribute, (int *value, int attribute, int device), (value, attribute, device))
{ (void)attribute, (void)device; *value = 1; return 0; }
FUNCTION(cuDeviceGetUuid, (void *uuid, int device), (uuid, device)) { (void)device; memset(uuid, 1, 16); return 0; }
FUNCTION(cuDeviceGetPCIBusId, (char *text, int size, int device), (text, size, device))
{ (void)device; strncpy(text, "0000:01:00.0", (size_t)size); return 0; }
FUNCTION(cuMemHostRegister_v2, (void *address, size_t size, unsigned int flags), (address, size, flags))
{ (void)address, (void)size, (void)flags; return 0; }
FUNCTION(cuMemHostGetDevicePointer_v2, (uint64_t *device, void *host, unsigned int flags), (device, host, flags))
{ (void)flags; *device = (uintptr_t)host; return 0; }
FUNCTION(cuStreamIsCapturing, (void *stream, int *status), (stream, status))
{ (void)stream; *status = is_capturing; return 0; }
FUNCTION(cuThreadExchangeStreamCaptureMode, (int *mode), (mode)) { (void)mode; return 0; }
FUNCTION(cuModuleLoadData, (void **module, const void *image), (module, image))
{ (void)image; *module = &is_capturing; return 0; }
FUNCTION(cuModuleGetFunction, (void **function, void *module, const char *name), (function, module, name))
{ (void)module, (void)name; *function = &is_capturing; return 0; }
FUNCTION(cuFuncLoad, (void *function), (function)) { (void)function; return 0; }
FUNCTION(cuMemAlloc_v2, (uint64_t *device, size_t size), (device, size))
{ *device = (uintptr_t)calloc(1, size); return *device ? 0 : 2; }
FUNCTION(cuMemsetD8Async, (uint64_t device, unsigned char value, size_t size, void *stream),
	 (device, value, size, stream))
{ (void)stream; memset((void *)(uintptr_t)device, value, size); return 0; }
FUNCTION(cuMemcpyHtoDAsync_v2, (uint64_t device, const void *from, size_t size, void *stream),
	 (device, from, size, stream))
{ (void)stream; memcpy((void *)(uintptr_t)device, from, size); return 0; }
FUNCTION(cuMemHostAlloc, (void **address, size_t size, unsigned int flags), (address, size, flags))
{ (void)flags; *address = calloc(1, size); return *address ? 0 : 2; }
FUNCTION(cuStreamCreate, (void **stream, unsigned int flags), (stream, flags))
{ (void)flags; *stream = &is_capturing; return 0; }
FUNCTION(cuStreamDestroy_v2, (void *stream), (stream)) { (void)stream; return 0; }
FUNCTION(cuStreamSynchronize, (void *stream), (stream)) { (void)stream; return 0; }
FUNCTION(cuStreamWriteValue64_v2, (void *stream, uint64_t address, uint64_t value, unsigned int flags),
	 (stream, address, value, flags))
{
	(void)stream, (void)flags;
	__atomic_store_n((uint64_t *)(uintptr_t)address, value, __ATOMIC_RELEASE);
	return 0;
}
FUNCTION(cuPointerGetAttributes, (unsigned int count, const int *attributes, void **values, uint64_t address),
	 (count, attributes, values, address))
{
	(void)count, (void)attributes, (void)address;
	*(unsigned int *)values[0] = MEMORY_IS_DEVICE;
	*(unsigned int *)values[1] = 0;
	return 0;
}
FUNCTION(cuLaunchKernel, (void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
	 unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared, void *stream,
	 void **arguments, void **extra),
	 (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, arguments, extra))
{
	(void)function, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z, (void)shared, (void)stream,
	    (void)extra;
	if (scans_nothing)
		null_kernel_answer(arguments);
	else
		null_kernel(arguments, grid_x);
	return 0;
}
/* clang-format on */
