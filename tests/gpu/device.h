/* SPDX-License-Identifier: MIT */
/* The device that a measuring program works on, and its kernels. An error of the driver ends the program. */
#ifndef TESTS_GPU_DEVICE_H
#define TESTS_GPU_DEVICE_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

struct device {
	CUcontext context;
	CUmodule module;
	CUfunction stamp, fill, spin;
	int processors; /* streaming multiprocessors */
};

/* Makes the device current on this thread. number: modulo the devices that there are, so ranks share a single one. */
void device_open(struct device *device, int number);

/* In stream order: *to = %globaltimer, as a kernel of one thread. */
void device_stamp(const struct device *device, CUstream stream, CUdeviceptr to);

/*
 * As a large matrix product does: more blocks than fit, each of which computes for block_us on all lanes that it gets.
 * waves: how often the GPU is filled, one behind the other.
 */
void device_fill(const struct device *device, CUstream stream, unsigned int waves, unsigned int block_us);

/* As a collective whose peer does not come: many blocks whose threads all wait until the 64-bit word at `flag` is not
 * 0, DEVICE_SPIN_S at most. */
enum { DEVICE_SPIN_S = 30, DEVICE_SPIN_BLOCKS = 24, DEVICE_SPIN_THREADS = 544 };
void device_spin(const struct device *device, CUstream stream, CUdeviceptr flag);

CUstream device_stream(void);
CUdeviceptr device_memory(size_t size);
/* Pinned, zeroed, at *address for the device. */
volatile uint64_t *device_words(size_t count, CUdeviceptr *address);

/* CLOCK_MONOTONIC. */
uint64_t device_host_ns(void);
void device_pause_us(uint64_t us);
/* Sorts the values. 0 without any. */
double device_median(double *values, size_t count);

void device_need(CUresult result, const char *what);
#define DEVICE_CHECK(call) device_need(call, #call)

#endif
