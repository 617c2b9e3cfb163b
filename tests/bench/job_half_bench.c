/* SPDX-License-Identifier: MIT */
/*
 * What the job half takes of a large job: job_half_bench RANKS. Eight ranks a host, each in a communicator of all ranks and in one of
 * the ranks at its place on all hosts (data parallelism); both are cut every two seconds, their calls are hashed every eight, and a host
 * sends twice a second. Two minutes of the job, and a rank that is a tenth slow in the second of them. Prints a row of
 * docs/benchmarks.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rankwatch/message.h>
#include <rankwatch/operation.h>

#include "analysis/job/job_half.h"

enum { PER_HOST = 8, SECONDS = 120, CUT_S = 2, ORDER_S = 8, SLOW_S = 60, SLOW_RANK = 5, ROOM = 64 };

struct sender {
	struct rw_batch header;
	struct rw_message messages[ROOM];
};

struct bench {
	struct job_half *half;
	int ranks, hosts;
	struct sender sender;
	uint64_t *own_us, *inside_us;
	uint64_t messages, bytes, random;
	double cpu_s, longest_tick_s;
	int found, wrong;
	double now_s, found_s;
};

static double cpu_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void emit(void *argument, const struct rw_finding *finding)
{
	struct bench *bench = argument;

	if (finding->state == RW_FINDING_CLOSED)
		return;
	if (finding->rank_count == 1 && finding->ranks[0] == SLOW_RANK && bench->now_s > SLOW_S) {
		if (!bench->found++)
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

static struct rw_message *add(struct bench *bench, enum rw_message_type type, int rank)
{
	struct rw_message *message = &bench->sender.messages[bench->sender.header.count++];

	*message = (struct rw_message){ .type = (uint8_t)type, .rank = rank };
	return message;
}

static void add_member(struct bench *bench, int rank, uint64_t comm, int size, int number)
{
	struct rw_message *message = add(bench, RW_MESSAGE_MEMBER, rank);

	message->member = (struct rw_message_member){ .comm = comm, .size = size, .comm_rank = number, .hosts = bench->hosts };
}

static void add_cut(struct bench *bench, int rank, uint64_t comm, uint64_t number)
{
	struct rw_message *message = add(bench, RW_MESSAGE_CUT, rank);

	message->function = RW_FUNCTION_ALL_REDUCE;
	message->cut = (struct rw_message_cut){
		.comm = comm,
		.sequence = number * 16 - 1,
		.own_us = (uint32_t)bench->own_us[rank],
		.inside_us = (uint32_t)bench->inside_us[rank],
		.operations = (uint32_t)number * 400,
	};
}

static void add_order(struct bench *bench, int rank, uint64_t comm, uint64_t number)
{
	struct rw_message *message = add(bench, RW_MESSAGE_CALLS, rank);

	message->calls = (struct rw_message_calls){ .comm = comm, .calls = number * 64, .hash = comm + number };
}

static void send(struct bench *bench, int host, uint64_t number, double at_s)
{
	struct rw_batch *header = &bench->sender.header;
	size_t length = sizeof(*header) + header->count * sizeof(struct rw_message);

	header->magic = RW_BATCH_MAGIC;
	header->version = RW_BATCH_VERSION;
	header->number = number;
	header->start = 1;
	snprintf(header->host, sizeof(header->host), "node-%05d", host);
	strcpy(header->job, "bench");
	bench->messages += header->count;
	bench->bytes += length;
	double began_s = cpu_now();
	if (job_half_take(bench->half, &bench->sender, length, (uint64_t)(at_s * 1e9), NULL))
		abort();
	bench->cpu_s += cpu_now() - began_s;
}

static void work(struct bench *bench, int rank, double at_s)
{
	double own_s = CUT_S * (0.7 + 0.01 * uniform(bench));

	if (rank == SLOW_RANK && at_s > SLOW_S)
		own_s += CUT_S * 0.1;
	bench->own_us[rank] += (uint64_t)(own_s * 1e6);
	bench->inside_us[rank] += (uint64_t)((CUT_S - own_s) * 1e6);
}

static void play(struct bench *bench)
{
	for (int half_s = 0; half_s < SECONDS * 2; half_s++) {
		double at_s = 1 + half_s / 2.0;
		uint64_t number = (uint64_t)half_s / 2 / CUT_S + 1;
		bench->now_s = at_s;
		for (int host = 0; host < bench->hosts; host++) {
			bench->sender.header.count = 0;
			for (int rank = host * PER_HOST; rank < (host + 1) * PER_HOST; rank++) {
				if (half_s == 0) {
					add(bench, RW_MESSAGE_RANK, rank)->of_rank =
					    (struct rw_message_rank){ .pid = rank, .world_size = bench->ranks, .exit_status = -1 };
					add_member(bench, rank, 1, bench->ranks, rank);
					add_member(bench, rank, 2 + (uint64_t)(rank % PER_HOST), bench->hosts, host);
				}
				if (half_s % (2 * CUT_S))
					continue;
				work(bench, rank, at_s);
				add_cut(bench, rank, 1, number);
				add_cut(bench, rank, 2 + (uint64_t)(rank % PER_HOST), number);
				if (half_s % (2 * ORDER_S))
					continue;
				add_order(bench, rank, 1, number);
				add_order(bench, rank, 2 + (uint64_t)(rank % PER_HOST), number);
			}
			send(bench, host, (uint64_t)half_s, at_s);
		}
		double began_s = cpu_now();
		job_half_tick(bench->half, (uint64_t)(at_s * 1e9));
		double took_s = cpu_now() - began_s;
		bench->cpu_s += took_s;
		bench->longest_tick_s = took_s > bench->longest_tick_s ? took_s : bench->longest_tick_s;
	}
}

int main(int count, char **arguments)
{
	struct bench bench = { .ranks = count > 1 ? atoi(arguments[1]) : 8, .random = 1 };

	if (bench.ranks < PER_HOST || bench.ranks % PER_HOST) {
		fprintf(stderr, "usage: job_half_bench RANKS, a multiple of %d\n", PER_HOST);
		return 2;
	}
	bench.hosts = bench.ranks / PER_HOST;
	bench.half = job_half_new("bench", emit, &bench);
	bench.own_us = calloc((size_t)bench.ranks, sizeof(*bench.own_us));
	bench.inside_us = calloc((size_t)bench.ranks, sizeof(*bench.inside_us));
	if (!bench.half || !bench.own_us || !bench.inside_us)
		abort();
	play(&bench);
	size_t bytes = job_half_bytes(bench.half);
	printf("| %d | %d | %.0f | %.2f | %.2f | %.1f | %.2f | %s%.0f s |\n", bench.ranks, bench.hosts,
	       (double)bench.messages / SECONDS, (double)bench.bytes / SECONDS / 1e6, bench.cpu_s / SECONDS * 100,
	       bench.longest_tick_s * 1e3, (double)bytes / bench.ranks / 1024, bench.found ? "" : "not after ",
	       bench.found ? bench.found_s : SECONDS - SLOW_S);
	if (bench.wrong)
		printf("%d findings about others\n", bench.wrong);
	job_half_free(bench.half);
	free(bench.own_us);
	free(bench.inside_us);
	return bench.wrong != 0;
}
