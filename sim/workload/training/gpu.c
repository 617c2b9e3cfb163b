/* SPDX-License-Identifier: MIT */
#include "sim/workload/training/gpu.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/workload/training/compute_kernel.h"

void gpu_check(CUresult result, const char *what)
{
	const char *text = NULL;

	if (result == CUDA_SUCCESS)
		return;
	cuGetErrorString(result, &text);
	fprintf(stderr, "workload: %s: %s (%d)\n", what, text ? text : "unknown error", (int)result);
	exit(1);
}

void gpu_open(struct gpu *gpu, int local_rank, unsigned int host_waits)
{
	int devices = 0;

	GPU_CHECK(cuInit(0));
	GPU_CHECK(cuDeviceGetCount(&devices));
	GPU_CHECK(devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
	GPU_CHECK(cuDeviceGet(&gpu->device, local_rank % devices));
	GPU_CHECK(cuDevicePrimaryCtxSetFlags(gpu->device, host_waits));
	GPU_CHECK(cuDevicePrimaryCtxRetain(&gpu->context, gpu->device));
	GPU_CHECK(cuCtxSetCurrent(gpu->context));
	GPU_CHECK(cuModuleLoadData(&gpu->module, compute_kernel_ptx));
	GPU_CHECK(cuModuleGetFunction(&gpu->compute_kernel, gpu->module, COMPUTE_KERNEL_NAME));
	gpu->compute = gpu_stream();
}

void gpu_close(struct gpu *gpu)
{
	GPU_CHECK(cuStreamDestroy(gpu->compute));
	GPU_CHECK(cuModuleUnload(gpu->module));
	GPU_CHECK(cuDevicePrimaryCtxRelease(gpu->device));
}

static void compute(struct gpu *gpu, uint64_t nanoseconds)
{
	void *parameters[] = { &nanoseconds };

	GPU_CHECK(cuLaunchKernel(gpu->compute_kernel, 1, 1, 1, 1, 1, 1, 0, gpu->compute, parameters, NULL));
}

void gpu_compute(struct gpu *gpu, unsigned int us)
{
	compute(gpu, us * 1000ULL);
}

void gpu_compute_for_ever(struct gpu *gpu)
{
	compute(gpu, 1000000000ULL * 1000000000ULL);
}

enum { PRODUCT_THREADS = 1024, PRODUCT_BLOCKS = 2 /* on each multiprocessor: all the threads that it has room for */ };

void gpu_products_open(struct gpu_products *products)
{
	CUdevice device;
	int multiprocessors = 0;

	GPU_CHECK(cuCtxGetDevice(&device));
	GPU_CHECK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
	GPU_CHECK(cuModuleLoadData(&products->module, compute_kernel_ptx));
	GPU_CHECK(cuModuleGetFunction(&products->kernel, products->module, COMPUTE_KERNEL_NAME));
	products->blocks = (unsigned int)multiprocessors * PRODUCT_BLOCKS;
	products->stream = gpu_stream();
}

void gpu_products_compute(const struct gpu_products *products, unsigned int us)
{
	uint64_t nanoseconds = us * 1000ULL;
	void *parameters[] = { &nanoseconds };

	GPU_CHECK(cuLaunchKernel(products->kernel, products->blocks, 1, 1, PRODUCT_THREADS, 1, 1, 0, products->stream,
				 parameters, NULL));
}

CUdeviceptr gpu_allocate(size_t size)
{
	CUdeviceptr memory = 0;

	GPU_CHECK(cuMemAlloc(&memory, size));
	return memory;
}

void *gpu_allocate_pinned(size_t size)
{
	void *memory = NULL;

	GPU_CHECK(cuMemAllocHost(&memory, size));
	return memory;
}

CUevent gpu_event(void)
{
	CUevent event = NULL;
	unsigned int flags, blocking;

	GPU_CHECK(cuCtxGetFlags(&flags));
	blocking = flags & CU_CTX_SCHED_BLOCKING_SYNC ? CU_EVENT_BLOCKING_SYNC : 0;
	GPU_CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | blocking));
	return event;
}

CUstream gpu_stream(void)
{
	CUstream stream = NULL;

	GPU_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

void gpu_order(CUstream before, CUevent event, CUstream after)
{
	GPU_CHECK(cuEventRecord(event, before));
	GPU_CHECK(cuStreamWaitEvent(after, event, 0));
}
