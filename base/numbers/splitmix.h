/* SPDX-License-Identifier: MIT */
/*
 * Numbers that look random and are the same in each run: splitmix64 (Steele, Lea and Flood, "Fast Splittable
 * Pseudorandom Number Generators", OOPSLA 2014), with Vigna's constants. Not for anything secret.
 */
#ifndef BASE_NUMBERS_SPLITMIX_H
#define BASE_NUMBERS_SPLITMIX_H

#include <stdint.h>

#define SPLITMIX_STEP UINT64_C(0x9e3779b97f4a7c15) /* of the state, from one number to the next */

/* Every bit of the input reaches every bit of the result. 0 stays 0. */
static inline uint64_t splitmix_mix(uint64_t number)
{
	number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
	return number ^ number >> 31;
}

/* The next number. Any state will do as the first one. */
static inline uint64_t splitmix_next(uint64_t *state)
{
	return splitmix_mix(*state += SPLITMIX_STEP);
}

#endif
