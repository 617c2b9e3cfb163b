/* SPDX-License-Identifier: MIT */
#include "scan_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CUresult scan_gpu_load(struct scan_gpu *gpu, const struct scan_image *image)
{
	CUmodule module;
	CUresult result = cuModuleLoadData(&module, image->data);

	return result ? result : cuModuleGetFunction(&gpu->kernel, module, SCAN_KERNEL_NAME);
}

static const char *load_kernel(struct scan_gpu *gpu)
{
	const char *wanted = getenv("GPU_SCAN_IMAGE");
	CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;

	for (const struct scan_image *image = scan_images(); image->data; image++) {
		if (wanted && strcmp(wanted, image->name) != 0)
			continue;
		result = scan_gpu_load(gpu, image);
		if (result == CUDA_SUCCESS)
			return image->name;
	}
	device_need(result, "cuModuleLoadData of every image of the scan kernel");
	return NULL;
}

void scan_gpu_open(struct scan_gpu *gpu)
{
	char name[128] = "";
	CUdevice device;
	void *slots;

	device_open(&gpu->device, 0);
	DEVICE_CHECK(cuCtxGetDevice(&device));
	DEVICE_CHECK(cuDeviceGetName(name, sizeof(name), device));
	gpu->stand_in = strncmp(name, "Stand-in", strlen("Stand-in")) == 0;
	const char *image = load_kernel(gpu);
	gpu->stream = device_stream();
	DEVICE_CHECK(cuMemHostAlloc(&slots, SCAN_SEGMENTS * sizeof(struct scan_result), CU_MEMHOSTALLOC_PORTABLE));
	gpu->launch.slots = slots;
	gpu->launch.scratch = (struct scan_scratch *)(uintptr_t)device_memory(sizeof(struct scan_scratch));
	printf("{\"device\":\"%s\",\"image\":\"%s\",\"processors\":%d}\n", name, image, gpu->device.processors);
}

void scan_gpu_launch(struct scan_gpu *gpu, unsigned int blocks)
{
	void *parameters[] = { &gpu->launch };

	DEVICE_CHECK(cuLaunchKernel(gpu->kernel, blocks, 1, 1, SCAN_THREADS, 1, 1, 0, gpu->stream, parameters, NULL));
}
