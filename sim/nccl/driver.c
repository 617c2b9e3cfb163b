/* SPDX-License-Identifier: MIT */
#include "sim/nccl/driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include "sim/nccl/log.h"

struct driver driver;
static ncclResult_t opened = ncclSystemError;

#define QUOTE(name)         #name
#define DRIVER_SYMBOL(name) { QUOTE(name), offsetof(struct driver, name) },

static const struct {
	const char *name;
	size_t offset;
} symbols[] = { DRIVER_FUNCTIONS(DRIVER_SYMBOL) };

static void open_once(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		log_warn("cannot open the CUDA driver: %s", dlerror());
		return;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *function = dlsym(library, symbols[i].name);
		if (!function) {
			log_warn("libcuda.so.1 has no %s", symbols[i].name);
			return;
		}
		*(void **)((char *)&driver + symbols[i].offset) = function;
	}
	opened = driver_check(driver.cuInit(0), "cuInit");
}

ncclResult_t driver_open(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, open_once);
	return opened;
}

ncclResult_t driver_check(CUresult result, const char *call)
{
	const char *name = NULL;

	if (result == CUDA_SUCCESS)
		return ncclSuccess;
	driver.cuGetErrorName(result, &name);
	log_warn("Cuda failure %d '%s' in %s", (int)result, name ? name : "?", call);
	return ncclUnhandledCudaError;
}
