/* SPDX-License-Identifier: MIT */
/*
 * How often is a healthy rank named, and how soon is a slow one? Prints the tables of docs/accuracy.md. No verdict:
 * noise_test.c judges fewer of the same jobs. usage: accuracy [DRAWS [FIRST-SEED [healthy|faulty|even [NAME-PART
 * [RANKS]]]]] RANKS: of each healthy job, instead of 8 to 64; it then tells the CPU time, too.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unit/analysis/jobs/even_jobs.h"
#include "tests/unit/analysis/jobs/noisy_jobs.h"

/* Upper end of the 95 % interval of `happened` of `times` (Wilson 1927); where it never did, 3 of them (Hanley 1983).
 */
static double at_most(int happened, int times)
{
	double z = 1.96, n = times, p = happened / n;

	if (!happened)
		return fmin(3 / n, 1);
	return (p + z * z / (2 * n) + z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))) / (1 + z * z / n);
}

static void healthy(unsigned draws, unsigned first, const char *part, int ranks)
{
	int all = 0, wrong_all = 0;

	printf("| healthy jobs | jobs | with a rank named | at most (95 %%) |\n|---|---|---|---|\n");
	for (int i = 0; i < noisy_healthy_count; i++) {
		int wrong = 0;
		if (!strstr(noisy_healthy[i].what, part))
			continue;
		for (unsigned draw = 0; draw < draws; draw++) {
			struct noisy_job job = noisy_healthy_job(i, first + draw);
			struct noisy_result result;
			clock_t before = clock();
			if (ranks) {
				job.ranks = ranks;
				job.ranks_per_host = 8;
			}
			noisy_play(&job, &result);
			if (ranks)
				fprintf(stderr, "%s, %d ranks: %.1f s of CPU for %.0f s of the job\n", noisy_healthy[i].what, ranks,
					(double)(clock() - before) / CLOCKS_PER_SEC, job.steps * job.step_ms / 1000);
			wrong += result.wrong > 0;
			if (result.wrong)
				fprintf(stderr, "%s, seed %u, %d ranks: step %d: %s\n", noisy_healthy[i].what,
					first + draw, job.ranks, result.wrong_step, result.wrong_text);
			if (result.steps < job.steps / 2)
				fprintf(stderr, "%s, seed %u: only %d steps\n", noisy_healthy[i].what, first + draw,
					result.steps);
		}
		printf("| %s | %u | %d | %.2g %% |\n", noisy_healthy[i].what, draws, wrong,
		       100 * at_most(wrong, (int)draws));
		fflush(stdout);
		all += (int)draws;
		wrong_all += wrong;
	}
	if (all)
		printf("| all | %d | %d | %.2g %% |\n", all, wrong_all, 100 * at_most(wrong_all, all));
}

static int by_value(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

static void faulty(unsigned draws, unsigned first, const char *part)
{
	int *delays = calloc(draws * 2ul, sizeof(*delays));

	printf("| slow rank | by, of what counts | ranks | found | steps to it, median | 90 %% | healthy ones named |\n"
	       "|---|---|---|---|---|---|---|\n");
	for (int i = 0; delays && i < noisy_faulty_count; i++)
		for (int size = 0; size < noisy_size_count; size++) {
			int found = 0, ranks = 0, wrong = 0;
			if (!strstr(noisy_faulty[i].what, part))
				continue;
			for (unsigned draw = 0; draw < draws; draw++) {
				struct noisy_job job = noisy_faulty_job(i, size, first + draw);
				struct noisy_result result;
				noisy_play(&job, &result);
				wrong += result.wrong > 0;
				if (result.wrong)
					fprintf(stderr, "%s × %g, seed %u, faulty %d %d: step %d: %s\n",
						noisy_faulty[i].what, noisy_sizes[size], first + draw, result.faulty[0],
						result.faulty[1], result.wrong_step, result.wrong_text);
				for (int k = 0; k < 2; k++) {
					if (result.faulty[k] < 0)
						continue;
					ranks++;
					if (result.found_step[k])
						delays[found++] = result.found_step[k] - job.fault_step + 1;
				}
			}
			qsort(delays, (size_t)found, sizeof(*delays), by_value);
			printf("| %s | %g | %d | %.0f %% |", noisy_faulty[i].what, noisy_sizes[size], ranks,
			       100.0 * found / ranks);
			if (found)
				printf(" %d | %d |", delays[found / 2], delays[found * 9 / 10]);
			else
				printf(" – | – |");
			printf(" %d |\n", wrong);
			fflush(stdout);
		}
	free(delays);
}

static int by_seconds(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

static void even_ones(unsigned draws, unsigned first, const char *part)
{
	int all = 0, wrong_all = 0;

	printf("| healthy jobs of many operations | jobs | with a rank named |\n|---|---|---|\n");
	for (int i = 0; i < even_healthy_count; i++) {
		int wrong = 0;
		if (!strstr(even_healthy[i].what, part))
			continue;
		for (unsigned draw = 0; draw < draws; draw++) {
			struct even_job job = even_healthy_job(i, first + draw);
			struct even_result result;
			even_play(&job, &result);
			wrong += result.wrong > 0;
			if (result.wrong)
				fprintf(stderr, "%s, seed %u, %d ranks: %s\n", even_healthy[i].what, first + draw,
					job.ranks, result.wrong_text);
		}
		printf("| %s | %u | %d |\n", even_healthy[i].what, draws, wrong);
		fflush(stdout);
		all += (int)draws;
		wrong_all += wrong;
	}
	if (all)
		printf("| all | %d | %d, at most %.2g %% (95 %%) |\n", all, wrong_all, 100 * at_most(wrong_all, all));
}

static void even_slow(unsigned draws, unsigned first, const char *part)
{
	double *seconds = calloc(draws, sizeof(*seconds));

	printf("\n| slow rank in a job of many operations | found | s to it, median | 90 %% | share told, mean | "
	       "healthy ones named |\n"
	       "|---|---|---|---|---|---|\n");
	for (int i = 0; seconds && i < even_faulty_count; i++) {
		unsigned found = 0, wrong = 0;
		double share = 0;
		if (!strstr(even_faulty[i].what, part))
			continue;
		for (unsigned draw = 0; draw < draws; draw++) {
			struct even_job job = even_faulty_job(i, first + draw);
			struct even_result result;
			even_play(&job, &result);
			wrong += result.wrong > 0;
			if (result.wrong)
				fprintf(stderr, "%s, seed %u, rank %d of %d: %s\n", even_faulty[i].what, first + draw,
					job.slow_rank, job.ranks, result.wrong_text);
			if (!result.found)
				continue;
			seconds[found++] = result.found_s;
			share += result.share;
		}
		qsort(seconds, found, sizeof(*seconds), by_seconds);
		printf("| %s | %u of %u |", even_faulty[i].what, found, draws);
		if (found)
			printf(" %.0f | %.0f | %.1f %% |", seconds[found / 2], seconds[found * 9 / 10], 100 * share / found);
		else
			printf(" – | – | – |");
		printf(" %u |\n", wrong);
		fflush(stdout);
	}
	free(seconds);
}

int main(int count, char **arguments)
{
	unsigned draws = count > 1 ? (unsigned)strtoul(arguments[1], NULL, 10) : 20;
	unsigned first = count > 2 ? (unsigned)strtoul(arguments[2], NULL, 10) : 0;
	const char *which = count > 3 ? arguments[3] : "", *part = count > 4 ? arguments[4] : "";
	int ranks = count > 5 ? atoi(arguments[5]) : 0;

	if (!draws) {
		fprintf(stderr, "usage: accuracy [DRAWS [FIRST-SEED [healthy|faulty|even [NAME-PART [RANKS]]]]]\n");
		return 2;
	}
	if (!*which || !strcmp(which, "healthy"))
		healthy(draws, first, part, ranks);
	if (!*which)
		printf("\n");
	if (!*which || !strcmp(which, "faulty"))
		faulty(draws, first, part);
	if (!*which)
		printf("\n");
	if (!*which || !strcmp(which, "even")) {
		even_ones(draws, first, part);
		even_slow(draws, first, part);
	}
	return 0;
}
