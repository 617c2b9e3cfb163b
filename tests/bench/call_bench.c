/* SPDX-License-Identifier: MIT */
/*
 * What a wrapper adds to a call: a NCCL of this program's own that does nothing, called through the interposer and
 * directly. Prints one JSON line of ns per call, medians of rounds.
 *   call_bench (linked to the library before anything else; RANKWATCH_PRELOAD=0: it passes through)
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#include "tests/bench/stopwatch.h"

enum { ROUNDS = 201, CALLS = 20000 };

typedef int all_reduce(const void *, void *, size_t, int, int, void *, void *);
extern all_reduce ncclAllReduce;

static double measure(all_reduce *function, double *times)
{
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin = stopwatch_now();

		for (int i = 0; i < CALLS; i++)
			function(times, times, 1, 0, 0, NULL, NULL);
		times[round] = (double)(stopwatch_now() - begin) / CALLS;
	}
	return stopwatch_median(times, ROUNDS);
}

int main(void)
{
	static double times[ROUNDS];
	all_reduce *real;

	*(void **)&real = dlsym(RTLD_DEFAULT, "pncclAllReduce");
	if (!real || ncclAllReduce(NULL, NULL, 1, 0, 0, NULL, NULL) != real(NULL, NULL, 1, 0, 0, NULL, NULL)) {
		fprintf(stderr, "call_bench: the interposer does not reach the NCCL behind it\n");
		return 1;
	}
	double direct = measure(real, times), wrapped = measure(ncclAllReduce, times);
	printf("{\"direct_ns\":%.1f,\"wrapped_ns\":%.1f}\n", direct, wrapped);
	return 0;
}
