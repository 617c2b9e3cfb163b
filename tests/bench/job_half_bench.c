/* SPDX-License-Identifier: MIT */
/*
 * What the job half takes of a large job: job_half_bench RANKS [KIB [SLOW]]. A row is two seconds, their calls are
 * hashed every eight, and a host sends twice a second. Two minutes of the job, and a rank, or SLOW ranks of as many
 * hosts, that are a tenth slow in the second of them. Prints a row of docs/benchmarks.md. Fails if the job half keeps
 * more than KIB a rank, or names another rank.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "job_messages.h"

enum { SECONDS = 120, ROW_S = 2, ORDER_S = 8, SLOW_S = 60, SLOW_RANK = 5 };

struct bench {
	struct job_half *half;
	struct job_messages job;
	uint64_t random;
	double cpu_s, longest_tick_s;
	int slow; /* ranks, each of another host */
	int found, wrong;
	double now_s, found_s;
};

static bool is_slow(const struct bench *bench, int rank)
{
	return bench->now_s > SLOW_S && rank % JOB_PER_HOST == SLOW_RANK && rank / JOB_PER_HOST < bench->slow;
}

static void emit(void *argument, const struct rw_finding *finding)
{
	struct bench *bench = argument;

	if (finding->state == RW_FINDING_CLOSED)
		return;
	if (finding->rank_count == 1 && is_slow(bench, finding->ranks[0])) {
		if (finding->state == RW_FINDING_OPEN && ++bench->found == bench->slow)
			bench->found_s = bench->now_s - SLOW_S;
	} else {
		bench->wrong++;
	}
}

/* xorshift64*, Vigna 2016. In [0, 1). */
static double uniform(struct bench *bench)
{
	bench->random ^= bench->random >> 12;
	bench->random ^= bench->random << 25;
	bench->random ^= bench->random >> 27;
	return (double)(bench->random * 0x2545f4914f6cdd1du >> 11) / 9007199254740992.0;
}

static void work(struct bench *bench, int rank)
{
	double own_s = ROW_S * (0.7 + 0.01 * uniform(bench));

	if (is_slow(bench, rank))
		own_s += ROW_S * 0.1;
	bench->job.own_us[rank] += (uint64_t)(own_s * 1e6);
	bench->job.inside_us[rank] += (uint64_t)((ROW_S - own_s) * 1e6);
}

static void add_messages(struct bench *bench, int rank, int half_s)
{
	uint64_t number = (uint64_t)half_s / 2 / ROW_S + 1;

	if (half_s == 0)
		job_introduce(&bench->job, rank);
	if (half_s % (2 * ROW_S))
		return;
	work(bench, rank);
	job_row(&bench->job, rank, number);
	if (half_s % (2 * ORDER_S) == 0)
		job_order(&bench->job, rank, number);
}

static void play(struct bench *bench)
{
	for (int half_s = 0; half_s < SECONDS * 2; half_s++) {
		bench->now_s = 1 + half_s / 2.0;
		uint64_t now_ns = (uint64_t)(bench->now_s * 1e9);
		for (int host = 0; host < bench->job.hosts; host++) {
			job_begin_batch(&bench->job);
			for (int rank = host * JOB_PER_HOST; rank < (host + 1) * JOB_PER_HOST; rank++)
				add_messages(bench, rank, half_s);
			bench->cpu_s += job_send(&bench->job, bench->half, host, (uint64_t)half_s, now_ns);
		}
		double began_s = job_cpu_s();
		job_half_tick(bench->half, now_ns);
		double took_s = job_cpu_s() - began_s;
		bench->cpu_s += took_s;
		bench->longest_tick_s = took_s > bench->longest_tick_s ? took_s : bench->longest_tick_s;
	}
}

int main(int count, char **arguments)
{
	int ranks = count > 1 ? atoi(arguments[1]) : JOB_PER_HOST;
	struct bench bench = { .random = 1, .slow = count > 3 ? atoi(arguments[3]) : 1 };

	if (ranks < JOB_PER_HOST || ranks % JOB_PER_HOST || bench.slow < 1 || bench.slow > ranks / JOB_PER_HOST) {
		fprintf(
		    stderr,
		    "usage: job_half_bench RANKS [KIB [SLOW]], RANKS a multiple of %d, a SLOW rank of a host at most\n",
		    JOB_PER_HOST);
		return 2;
	}
	bench.half = job_half_new("bench", emit, &bench);
	if (!bench.half)
		abort();
	job_messages_init(&bench.job, ranks);
	play(&bench);
	double kib = (double)job_half_bytes(bench.half) / ranks / 1024, most_kib = count > 2 ? atof(arguments[2]) : kib;
	bool found = bench.found >= bench.slow;
	printf("| %d | %d | %d | %.0f | %.2f | %.2f | %.1f | %.2f | %d, %s%.0f s |\n", ranks, bench.job.hosts, bench.slow,
	       (double)bench.job.count / SECONDS, (double)bench.job.bytes / SECONDS / 1e6, bench.cpu_s / SECONDS * 100,
	       bench.longest_tick_s * 1e3, kib, bench.found, found ? "" : "not all after ",
	       found ? bench.found_s : SECONDS - SLOW_S);
	if (bench.wrong)
		printf("%d findings about others\n", bench.wrong);
	if (kib > most_kib)
		printf("more than %g KiB a rank\n", most_kib);
	job_half_free(bench.half);
	job_messages_free(&bench.job);
	return bench.wrong || kib > most_kib;
}
