/* SPDX-License-Identifier: MIT */
#include "scan_gpu.h"

#include <stdio.h>
#include <string.h>

#include "plugin/gpu/scan_image.h"

static const char *load_kernel(struct scan_gpu *gpu)
{
	const struct scan_image *image = scan_images();
	CUmodule module;
	CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;

	for (; image->data; image++) {
		result = cuModuleLoadData(&module, image->data);
		if (result == CUDA_SUCCESS)
			break;
	}
	device_need(result, "cuModuleLoadData of every image of the scan kernel");
	DEVICE_CHECK(cuModuleGetFunction(&gpu->kernel, module, SCAN_KERNEL_NAME));
	return image->name;
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
