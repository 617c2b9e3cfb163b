/* SPDX-License-Identifier: MIT */
/* Every range the "GPU" may touch: device memory, pinned host memory, registered host memory. Addresses are the same on
 * both sides. */
#ifndef SIM_CUDA_DEVICES_MEMORY_H
#define SIM_CUDA_DEVICES_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>

enum memory_kind { MEMORY_DEVICE, MEMORY_PINNED, MEMORY_REGISTERED };

struct memory_range {
	struct memory_range *next;
	unsigned long long base, id;
	size_t size;
	enum memory_kind kind;
	CUcontext context;
};

/* Copies the range that holds all of [address, address + size); false: there is none. */
bool memory_find(CUdeviceptr address, size_t size, struct memory_range *range);

/* The context is gone, or empty after a reset: its allocations are unmapped, on the host, too, and what was registered
 * in it is not registered any more. */
void memory_forget(CUcontext context);

#endif
