/* SPDX-License-Identifier: MIT */
/* The scan kernel as the plugin carries it, on the device of a measuring program. */
#ifndef TESTS_GPU_SCAN_GPU_H
#define TESTS_GPU_SCAN_GPU_H

#include <stdbool.h>

#include "device.h"
#include "plugin/scan/scan_image.h"
#include "plugin/scan/scan_kernel.h"

struct scan_gpu {
	struct device device;
	CUfunction kernel;
	CUstream stream;
	struct scan_launch launch; /* slots (SCAN_SEGMENTS) and scratch are there */
	bool stand_in;
};

/* Loads the first image that the driver takes (GPU_SCAN_IMAGE in the environment: the one of that name), and prints
 * which. */
void scan_gpu_open(struct scan_gpu *gpu);
/* gpu->kernel is this image's from now on, unless there is an error. */
CUresult scan_gpu_load(struct scan_gpu *gpu, const struct scan_image *image);
/* Launches gpu->launch on gpu->stream. */
void scan_gpu_launch(struct scan_gpu *gpu, unsigned int blocks);

#endif
