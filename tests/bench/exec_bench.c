/* SPDX-License-Identifier: MIT */
/*
 * What the preloaded library costs a process that never calls NCCL: /bin/true with and without it, by turns.
 *   exec_bench LIBRARY [PAIRS]
 * Prints one JSON line. Paired: both of a pair meet the same machine; the median does not see the pairs in which one
 * was interrupted. CPU time depends less on who else is running.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/bench/stopwatch.h"

extern char **environ;

/* Wall time, and the CPU time that the kernel accounts to the process, its exec and its exit included. */
struct cost {
	double wall_ns, cpu_ns;
};

static double seconds_ns(struct timeval time)
{
	return (double)time.tv_sec * 1e9 + (double)time.tv_usec * 1e3;
}

static struct cost run_once(char **environment)
{
	char *argv[] = { (char *)"/bin/true", NULL };
	uint64_t begin = stopwatch_now();
	struct rusage usage;
	int status;
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environment) != 0 || wait4(pid, &status, 0, &usage) != pid ||
	    status) {
		fprintf(stderr, "/bin/true does not run\n");
		exit(1);
	}
	return (struct cost){ (double)(stopwatch_now() - begin),
			      seconds_ns(usage.ru_utime) + seconds_ns(usage.ru_stime) };
}

static double quantile_us(const double *sorted, size_t count, double share)
{
	return sorted[(size_t)((double)(count - 1) * share)] / 1000;
}

enum { WALL_WITH, WALL_WITHOUT, WALL, CPU, KINDS };

static void measure(char **plain, char **preloaded, size_t pairs, double **times)
{
	for (size_t i = 0; i < pairs; i++) {
		struct cost first = run_once(i % 2 ? preloaded : plain);
		struct cost second = run_once(i % 2 ? plain : preloaded);
		struct cost with = i % 2 ? first : second, without = i % 2 ? second : first;

		times[WALL_WITH][i] = with.wall_ns;
		times[WALL_WITHOUT][i] = without.wall_ns;
		times[WALL][i] = with.wall_ns - without.wall_ns;
		times[CPU][i] = with.cpu_ns - without.cpu_ns;
	}
}

int main(int argc, char **argv)
{
	size_t pairs = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	char preload[4096], *plain[] = { NULL }, *preloaded[] = { preload, NULL };
	double *times[KINDS];

	if (argc < 2 || !pairs) {
		fprintf(stderr, "exec_bench LIBRARY [PAIRS]\n");
		return 2;
	}
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", argv[1]);
	for (int kind = 0; kind < KINDS; kind++)
		if (!(times[kind] = calloc(pairs, sizeof(double))))
			return 1;
	measure(plain, preloaded, pairs, times);
	for (int kind = 0; kind < KINDS; kind++)
		stopwatch_median(times[kind], pairs); /* sorts */
	printf("{\"pairs\":%zu,\"without_us\":%.1f,\"with_us\":%.1f,\"difference_us\":%.1f,\"difference_p25_us\":%.1f,"
	       "\"difference_p75_us\":%.1f,\"cpu_us\":%.1f}\n",
	       pairs, quantile_us(times[WALL_WITHOUT], pairs, 0.5), quantile_us(times[WALL_WITH], pairs, 0.5),
	       quantile_us(times[WALL], pairs, 0.5), quantile_us(times[WALL], pairs, 0.25),
	       quantile_us(times[WALL], pairs, 0.75), quantile_us(times[CPU], pairs, 0.5));
	return 0;
}
