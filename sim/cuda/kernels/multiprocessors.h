/* SPDX-License-Identifier: MIT */
/*
 * The multiprocessors (SMs) of each device, for the kernels of this process: a running kernel holds one for each of its
 * blocks, all of them at most, until it ends. Kernels get them in the order in which they come. One whose blocks wait
 * for each other, or for other GPUs, begins when there is one for each block; any other begins with what is free.
 */
#ifndef SIM_CUDA_KERNELS_MULTIPROCESSORS_H
#define SIM_CUDA_KERNELS_MULTIPROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

/* Waits; returns how many it took, to be given back. */
unsigned int multiprocessors_take(CUdevice device, uint64_t blocks, bool together);
void multiprocessors_give(CUdevice device, unsigned int count);

#endif
