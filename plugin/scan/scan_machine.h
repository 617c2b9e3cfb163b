/* SPDX-License-Identifier: MIT */
/* What the scan kernel takes from a GPU and CUDA C++ has no word for. Its test on CPUs puts its own in place. */
#ifndef PLUGIN_SCAN_SCAN_MACHINE_H
#define PLUGIN_SCAN_SCAN_MACHINE_H

#include <stdint.h>

static __device__ __forceinline__ uint64_t now_ns()
{
	uint64_t now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	return now;
}

/* 16 aligned bytes that nobody writes meanwhile and nobody will want from L1. */
static __device__ __forceinline__ uint4 load_once(const void *at)
{
	uint4 value;

	asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
		     : "l"(at));
	return value;
}

/* Everything that the thread has written or seen comes before, for the host, too. */
static __device__ __forceinline__ void store_release(uint64_t *at, uint64_t value)
{
	asm volatile("st.release.sys.global.u64 [%0], %1;" : : "l"(at), "l"(value) : "memory");
}

#endif
