/* SPDX-License-Identifier: MIT */
#include "plugin/cost/sampling.h"

/* The finalizer of splitmix64 (Vigna): every bit of the input reaches every bit of the result. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t sampling_number(const struct sampling_name *name)
{
	uint64_t hash = mix(name->communicator + UINT64_C(0x9e3779b97f4a7c15) * name->function);

	hash = mix(hash ^ name->ranks);
	return mix(hash + name->sequence);
}
