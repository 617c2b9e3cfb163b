/* SPDX-License-Identifier: MIT */
/*
 * What the preloaded library costs a process that never calls NCCL: /bin/true with and without it, by turns.
 *   exec_bench LIBRARY [PAIRS]
 * Prints one JSON line. Paired: both of a pair meet the same machine; the median does not see the pairs in which one was
 * interrupted.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/bench/stopwatch.h"

extern char **environ;

static uint64_t run_once(char **environment)
{
	char *argv[] = { (char *)"/bin/true", NULL };
	uint64_t begin = stopwatch_now();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environment) != 0 || waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "/bin/true does not run\n");
		exit(1);
	}
	return stopwatch_now() - begin;
}

static double quantile(double *sorted, size_t count, double share)
{
	return sorted[(size_t)((double)(count - 1) * share)] / 1000;
}

int main(int argc, char **argv)
{
	size_t pairs = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	double *with = calloc(pairs, sizeof(*with)), *without = calloc(pairs, sizeof(*without));
	double *difference = calloc(pairs, sizeof(*difference));
	char preload[4096];

	if (argc < 2 || !pairs || !with || !without || !difference) {
		fprintf(stderr, "exec_bench LIBRARY [PAIRS]\n");
		return 2;
	}
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", argv[1]);
	char *plain[] = { NULL }, *preloaded[] = { preload, NULL };
	for (size_t i = 0; i < pairs; i++) {
		if (i % 2)
			with[i] = (double)run_once(preloaded);
		without[i] = (double)run_once(plain);
		if (i % 2 == 0)
			with[i] = (double)run_once(preloaded);
		difference[i] = with[i] - without[i];
	}
	stopwatch_median(with, pairs); /* sorts */
	stopwatch_median(without, pairs);
	stopwatch_median(difference, pairs);
	printf("{\"pairs\":%zu,\"with_us\":%.1f,\"without_us\":%.1f,\"difference_us\":%.1f,\"difference_p25_us\":%.1f,"
	       "\"difference_p75_us\":%.1f}\n",
	       pairs, quantile(with, pairs, 0.5), quantile(without, pairs, 0.5), quantile(difference, pairs, 0.5),
	       quantile(difference, pairs, 0.25), quantile(difference, pairs, 0.75));
	return 0;
}
