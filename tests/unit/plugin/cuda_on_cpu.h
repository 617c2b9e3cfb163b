/* SPDX-License-Identifier: MIT */
/*
 * As much of CUDA C++ as scan.cu uses, so that its text runs on a CPU: the threads of a block are contexts of one
 * thread, which take turns; who waits for others gives its turn away. Blocks run one after the other. What this cannot
 * show: races between blocks, memory order, and what nvcc makes of it.
 */
#ifndef TESTS_UNIT_PLUGIN_CUDA_ON_CPU_H
#define TESTS_UNIT_PLUGIN_CUDA_ON_CPU_H

#define PLUGIN_SCAN_SCAN_MACHINE_H /* instead of it */

#include <stdint.h>

#define __device__
#define __global__
#define __shared__      static
#define __forceinline__ inline
#define __launch_bounds__(threads, blocks)

struct uint3 {
	uint32_t x, y, z;
};

struct uint4 {
	uint32_t x, y, z, w;
};

extern struct uint3 threadIdx, blockIdx, gridDim;

/* Until all of the block, or of the warp, have come. */
void cpu_wait_for_block();
void cpu_wait_for_warp();
/* The other lane's value. All lanes of the warp call it. */
uint64_t cpu_exchange(uint64_t value, uint32_t lane);
void cpu_check_load(const void *at, uint32_t bytes);

static inline void __syncthreads()
{
	cpu_wait_for_block();
}

static inline void __syncwarp()
{
	cpu_wait_for_warp();
}

static inline uint64_t __shfl_xor_sync(uint32_t, uint64_t value, int distance)
{
	return cpu_exchange(value, threadIdx.x % 32 ^ (uint32_t)distance);
}

static inline uint32_t __reduce_add_sync(uint32_t mask, uint32_t value)
{
	for (int distance = 16; distance; distance /= 2)
		value += (uint32_t)__shfl_xor_sync(mask, value, distance);
	return value;
}

static inline int __any_sync(uint32_t mask, int predicate)
{
	return __reduce_add_sync(mask, predicate != 0) != 0;
}

int __syncthreads_or(int predicate);

/* They order nothing here, and are counted. */
struct cpu_fences {
	unsigned long device, system, releases;
};
extern struct cpu_fences cpu_fences;

static inline void __threadfence()
{
	cpu_fences.device++;
}

static inline void __threadfence_system()
{
	cpu_fences.system++;
}

template <typename T> static inline T __ldg(const T *at)
{
	cpu_check_load(at, sizeof(T));
	return *at;
}

template <typename T> static inline T __ldcg(const T *at)
{
	return *at;
}

static inline uint32_t __funnelshift_l(uint32_t low, uint32_t high, uint32_t shift)
{
	return high << shift | low >> (32 - shift);
}

template <typename T> static inline T atomicAdd(T *at, T value)
{
	const T before = *at;

	*at += value;
	return before;
}

template <typename T> static inline T atomicMax(T *at, T value)
{
	const T before = *at;

	*at = before < value ? value : before;
	return before;
}

static inline uint64_t now_ns()
{
	static uint64_t now;

	return ++now;
}

static inline uint4 load_once(const void *at)
{
	cpu_check_load(at, sizeof(uint4));
	return *(const uint4 *)at;
}

static inline void store_release(uint64_t *at, uint64_t value)
{
	cpu_fences.releases++;
	*at = value;
}

#endif
