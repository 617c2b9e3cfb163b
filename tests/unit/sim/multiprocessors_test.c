/* SPDX-License-Identifier: MIT */
/* A GPU that is full: a stream reaches a kernel, and the kernel waits for multiprocessors. */
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <cpu_module.h>
#include "sim/cuda/devices/device.h"
#include "ranks.h"

#define EXPECT_CU(call) cr_assert_eq((call), CUDA_SUCCESS)

enum { QUIET_US = 100000 };

static CUfunction product, meeting;
static atomic_int running;

static void run_hold(void **params, const struct cpu_launch *launch)
{
	(void)launch;
	atomic_fetch_add(&running, 1);
	sem_wait(*(sem_t **)params[0]);
	atomic_fetch_sub(&running, 1);
}

static const struct cpu_module_kernel kernels[] = {
	{ "product", run_hold, 1, { sizeof(sem_t *) } },
	{ "meeting", run_hold, 1, { sizeof(sem_t *) }, .together = true },
};
static const struct cpu_module_image image = { { 'r', 'w', 'c', 'p', 'u', 'm', 'o', 'd' }, 2, kernels };

static void open_driver(void)
{
	CUmodule module;
	CUcontext context;

	EXPECT_CU(cuInit(0));
	EXPECT_CU(cuDevicePrimaryCtxRetain(&context, 0));
	EXPECT_CU(cuCtxSetCurrent(context));
	EXPECT_CU(cuModuleLoadData(&module, &image));
	EXPECT_CU(cuModuleGetFunction(&product, module, "product"));
	EXPECT_CU(cuModuleGetFunction(&meeting, module, "meeting"));
}

TestSuite(multiprocessors, .init = open_driver, .timeout = 60);

static CUstream new_stream(void)
{
	CUstream stream;

	EXPECT_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

static void launch(CUfunction kernel, unsigned int blocks, CUstream stream, sem_t *until)
{
	void *params[] = { &until };

	sem_init(until, 0, 0);
	EXPECT_CU(cuLaunchKernel(kernel, blocks, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void expect_running(int count)
{
	while (atomic_load(&running) < count)
		usleep(1000);
	usleep(QUIET_US); /* one too many would have begun by now */
	cr_expect_eq(atomic_load(&running), count);
}

Test(multiprocessors, the_device_says_how_many_it_has)
{
	int count = 0;

	EXPECT_CU(cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	cr_expect_eq(count, DEVICE_MULTIPROCESSORS);
}

Test(multiprocessors, on_a_full_gpu_a_stream_reaches_a_kernel_that_does_not_begin)
{
	CUstream products = new_stream(), communication = new_stream();
	sem_t product_ends, meeting_ends;
	CUdeviceptr word;

	EXPECT_CU(cuMemAlloc(&word, 8));
	EXPECT_CU(cuMemsetD8(word, 0, 8));
	launch(product, 2 * DEVICE_MULTIPROCESSORS, products, &product_ends);
	expect_running(1);
	EXPECT_CU(cuStreamWriteValue64(communication, word, 7, 0));
	launch(meeting, 4, communication, &meeting_ends);
	expect_running(1);
	cr_expect_eq(__atomic_load_n((uint64_t *)(uintptr_t)word, __ATOMIC_ACQUIRE), 7, "the stream has come to it");
	sem_post(&product_ends);
	EXPECT_CU(cuStreamSynchronize(products));
	expect_running(1);
	sem_post(&meeting_ends);
	EXPECT_CU(cuStreamSynchronize(communication));
}

Test(multiprocessors, a_product_begins_with_what_is_left_and_a_meeting_needs_all_its_blocks)
{
	CUstream streams[] = { new_stream(), new_stream(), new_stream() };
	sem_t ends[3];

	launch(meeting, 100, streams[0], &ends[0]);
	expect_running(1);
	launch(meeting, 40, streams[1], &ends[1]); /* 32 are left */
	expect_running(1);
	launch(product, 1, streams[2], &ends[2]); /* comes behind the one that waits */
	expect_running(1);
	sem_post(&ends[0]);
	expect_running(2);
	sem_post(&ends[1]);
	sem_post(&ends[2]);
	for (int i = 0; i < 3; i++)
		EXPECT_CU(cuStreamSynchronize(streams[i]));

	launch(meeting, 100, streams[0], &ends[0]);
	expect_running(1);
	launch(product, DEVICE_MULTIPROCESSORS, streams[2], &ends[2]);
	expect_running(2);
	sem_post(&ends[0]);
	sem_post(&ends[2]);
	EXPECT_CU(cuStreamSynchronize(streams[0]));
	EXPECT_CU(cuStreamSynchronize(streams[2]));
}

Test(multiprocessors, each_device_has_its_own)
{
	CUstream here = new_stream(), there;
	CUcontext other;
	sem_t ends[2];

	launch(product, DEVICE_MULTIPROCESSORS, here, &ends[0]);
	expect_running(1);
	EXPECT_CU(cuDevicePrimaryCtxRetain(&other, 1));
	EXPECT_CU(cuCtxSetCurrent(other));
	there = new_stream();
	launch(product, DEVICE_MULTIPROCESSORS, there, &ends[1]);
	expect_running(2);
	sem_post(&ends[0]);
	sem_post(&ends[1]);
	EXPECT_CU(cuStreamSynchronize(here));
	EXPECT_CU(cuStreamSynchronize(there));
}
