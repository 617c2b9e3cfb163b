/* SPDX-License-Identifier: MIT */
/*
 * A host that waits for a kernel which does not end, in each way that programs wait; somebody else looks at its threads
 * meanwhile. Prints {"waits":PID,"how":…} and waits until its standard input ends; then it ends the kernel.
 *   gpu_stuck auto|spin|yield|block|event|copy|query
 * auto, spin, yield, block: cuStreamSynchronize with the context's scheduling set so. event: an event that asks for
 * blocking. copy: cuMemcpyDtoH, as .item() does. query: cuStreamQuery again and again.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"

static const struct way {
	const char *name;
	unsigned int flags; /* CU_CTX_SCHED_… */
} ways[] = {
	{ "auto", 0 }, { "spin", 1 }, { "yield", 2 }, { "block", 4 }, { "event", 0 }, { "copy", 0 }, { "query", 0 },
};

static volatile uint64_t *flag;

static void *await_end(void *unused)
{
	char byte;

	(void)unused;
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Before the context is there. False: this driver has no such call. */
static int set_flags(unsigned int flags)
{
	CUresult (*set)(CUdevice, unsigned int) = NULL;

	if (!flags)
		return 1;
	DEVICE_CHECK(cuInit(0));
	*(void **)&set = dlsym(RTLD_DEFAULT, "cuDevicePrimaryCtxSetFlags_v2");
	return set && set(0, flags) == CUDA_SUCCESS;
}

static void await_kernel(const char *how, CUstream stream, CUdeviceptr memory)
{
	CUevent event;
	uint64_t word;

	if (strcmp(how, "event") == 0) {
		DEVICE_CHECK(cuEventCreate(&event, CU_EVENT_BLOCKING_SYNC));
		DEVICE_CHECK(cuEventRecord(event, stream));
		DEVICE_CHECK(cuEventSynchronize(event));
	} else if (strcmp(how, "copy") == 0) {
		DEVICE_CHECK(
		    cuMemcpyDtoHAsync(&word, memory, sizeof(word), stream)); /* pageable: returns when it is done */
		DEVICE_CHECK(cuStreamSynchronize(stream));
	} else if (strcmp(how, "query") == 0) {
		while (cuStreamQuery(stream) != CUDA_SUCCESS)
			;
	} else {
		DEVICE_CHECK(cuStreamSynchronize(stream));
	}
}

int main(int argc, char **argv)
{
	const struct way *way = NULL;
	struct device device;
	CUdeviceptr flag_at, memory;
	pthread_t thread;

	for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			way = &ways[i];
	if (!way) {
		fprintf(stderr, "usage: gpu_stuck auto|spin|yield|block|event|copy|query\n");
		return 2;
	}
	if (!set_flags(way->flags)) {
		fprintf(stderr, "this driver does not take the flags of a context before it is there\n");
		return 77;
	}
	device_open(&device, 0);
	const CUstream stream = device_stream();

	memory = device_memory(8);
	flag = device_words(1, &flag_at);
	if (pthread_create(&thread, NULL, await_end, NULL) != 0)
		return 1;
	device_spin(&device, stream, flag_at);
	printf("{\"waits\":%d,\"how\":\"%s\"}\n", (int)getpid(), way->name);
	fflush(stdout);
	await_kernel(way->name, stream, memory);
	return 0;
}
