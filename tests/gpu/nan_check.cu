/* SPDX-License-Identifier: MIT */
/*
 * Kernels of the shape that PyTorch's TORCH_NCCL_NAN_CHECK has, after its public description (pull requests 135414 and
 * 174736): 512 threads, at most 24 blocks, packs of 16 bytes, eight loads and then eight checks, each of which ends
 * the kernel by a trap or by an assertion. Written anew for comparison; a PyTorch build may be compiled otherwise.
 * The memory is aligned and a whole number of packs.
 */
#include <cassert>
#include <cstdint>

enum { PACKS = 8, THREADS = 512 };

static __device__ __forceinline__ bool has_nan32(uint4 pack)
{
	return isnan(__uint_as_float(pack.x)) || isnan(__uint_as_float(pack.y)) || isnan(__uint_as_float(pack.z)) ||
	       isnan(__uint_as_float(pack.w));
}

static __device__ __forceinline__ bool has_nan16(uint32_t word)
{
	return isnan(__uint_as_float(word << 16)) || isnan(__uint_as_float(word & 0xffff0000));
}

static __device__ __forceinline__ bool has_nan(uint4 pack, bool bfloat16)
{
	return bfloat16 ? has_nan16(pack.x) || has_nan16(pack.y) || has_nan16(pack.z) || has_nan16(pack.w)
			: has_nan32(pack);
}

template <bool BFLOAT16, bool TRAP> static __device__ __forceinline__ void check(const uint4 *at, uint64_t packs)
{
	const uint64_t step = (uint64_t)gridDim.x * THREADS * PACKS;
	uint4 loaded[PACKS];

	for (uint64_t i = (uint64_t)blockIdx.x * THREADS * PACKS + threadIdx.x; i + (PACKS - 1) * THREADS < packs;
	     i += step) {
#pragma unroll
		for (int k = 0; k < PACKS; k++)
			loaded[k] = at[i + k * THREADS];
#pragma unroll
		for (int k = 0; k < PACKS; k++) {
			const bool bad = has_nan(loaded[k], BFLOAT16);

			if (TRAP && bad)
				__trap();
			if (!TRAP)
				assert(!bad);
		}
	}
}

#define KERNEL(name, bfloat16, trap)                                                                                   \
	extern "C" __global__ void name(const uint4 *at, uint64_t packs)                                               \
	{                                                                                                              \
		check<bfloat16, trap>(at, packs);                                                                      \
	}
KERNEL(gpu_nan_trap_bf16, true, true)
KERNEL(gpu_nan_trap_fp32, false, true)
KERNEL(gpu_nan_assert_bf16, true, false)
KERNEL(gpu_nan_assert_fp32, false, false)
