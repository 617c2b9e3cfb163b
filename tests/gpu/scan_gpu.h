/* SPDX-License-Identifier: MIT */
/* The scan kernel as the plugin carries it, on the device of a measuring program. */
#ifndef TESTS_GPU_SCAN_GPU_H
#define TESTS_GPU_SCAN_GPU_H

#include <stdbool.h>

#include "device.h"
#include "plugin/gpu/scan_kernel.h"

struct scan_gpu {
	struct device device;
	CUfunction kernel;
	CUstream stream;
	struct scan_launch launch; /* slots (SCAN_SEGMENTS) and scratch are there */
	bool stand_in;
};

/* Loads the first image that the driver takes, and prints which. */
void scan_gpu_open(struct scan_gpu *gpu);
/* Launches gpu->launch on gpu->stream. */
void scan_gpu_launch(struct scan_gpu *gpu, unsigned int blocks);

#endif
