/* SPDX-License-Identifier: MIT */
#include "plugin/cost/sampling.h"

#include <rankwatch/operation.h>

#include "plugin/nccl/dtype.h"

/* The finalizer of splitmix64 (Vigna): every bit of the input reaches every bit of the result. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

bool sampling_takes(const struct sampling_name *name, uint32_t every)
{
	if (every <= 1)
		return every;
	uint64_t hash = mix(name->communicator + UINT64_C(0x9e3779b97f4a7c15) * name->function);

	hash = mix(hash ^ name->ranks);
	hash = mix(hash + name->sequence);
	return (hash & (every - 1)) == 0;
}

/* Functions whose count is that of one rank's part. */
static bool has_parts(uint8_t function)
{
	return function == RW_FUNCTION_ALL_GATHER || function == RW_FUNCTION_REDUCE_SCATTER ||
	       function == RW_FUNCTION_ALL_TO_ALL || function == RW_FUNCTION_GATHER || function == RW_FUNCTION_SCATTER;
}

uint64_t sampling_bytes(uint8_t function, uint8_t dtype, uint64_t count, int32_t nranks)
{
	uint64_t element = dtype == RW_DTYPE_UNKNOWN ? 1 : dtype_size(dtype);
	uint64_t parts = nranks > 1 && has_parts(function) ? (uint64_t)nranks : 1;
	uint64_t bytes;

	if (__builtin_mul_overflow(count, element * parts, &bytes))
		return UINT64_MAX;
	return bytes;
}

bool sampling_after_pause(struct sampling_row *row, uint64_t now_ns, bool taken)
{
	const uint64_t most = SAMPLING_PAUSES * (uint64_t)SAMPLING_PAUSE_NS;
	uint64_t called_ns = atomic_load_explicit(&row->called_ns, memory_order_relaxed);
	uint64_t saved_ns = atomic_load_explicit(&row->saved_ns, memory_order_relaxed);
	uint64_t passed_ns = now_ns > called_ns ? now_ns - called_ns : 0;

	atomic_store_explicit(&row->called_ns, now_ns, memory_order_relaxed);
	saved_ns = passed_ns > most - saved_ns ? most : saved_ns + passed_ns;
	bool pays = !taken && saved_ns >= SAMPLING_PAUSE_NS;
	atomic_store_explicit(&row->saved_ns, pays ? saved_ns - SAMPLING_PAUSE_NS : saved_ns, memory_order_relaxed);
	return pays;
}
