/* SPDX-License-Identifier: MIT */
/* What the NCCL programs of this folder have in common: ranks that the program forks, one on each device. */
#ifndef TESTS_INTEGRATION_RANKS_H
#define TESTS_INTEGRATION_RANKS_H

#include <cuda.h>
#include <errno.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void need(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "%s: %s: %d\n", program_invocation_short_name, what, result);
	exit(1);
}

#define CU(call, ...)	need(call(__VA_ARGS__), #call)
#define NCCL(call, ...) need(call(__VA_ARGS__), #call)

/* As a launcher does. */
static inline void rank_name(int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", number);
	setenv("RANK", text, 1);
	setenv("LOCAL_RANK", text, 1);
}

/* What its parent makes is there. */
static inline void rank_await(const volatile int *have_id)
{
	while (!*have_id)
		usleep(1000);
}

/* Its device becomes current. */
static inline CUstream rank_open(int number)
{
	CUcontext context;
	CUdevice device;
	CUstream stream;

	CU(cuInit, 0);
	CU(cuDeviceGet, &device, number);
	CU(cuDevicePrimaryCtxRetain, &context, device);
	CU(cuCtxSetCurrent, context);
	CU(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	return stream;
}

static inline float *rank_buffer(size_t bytes)
{
	CUdeviceptr buffer;

	CU(cuMemAlloc, &buffer, bytes);
	return (float *)buffer;
}

/* Until all have ended; the exit status of their parent. */
static inline int ranks_end(void)
{
	int status, worst = 0;

	while (wait(&status) > 0)
		worst |= status;
	return worst ? 1 : 0;
}

#endif
