/* SPDX-License-Identifier: MIT */
/*
 * How often the job half names somebody in healthy jobs whose hosts, or ranks, differ for good: many_hosts_differences
 * FIRST COUNT plays so many drawn jobs of each kind and prints how many named somebody, as a table of docs/accuracy.md,
 * "Many hosts". Hosts report nothing of their own, so that only messages are judged. Exit status: 1 if somebody was
 * named.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/analysis/jobs/many_hosts.h"

enum { DIFFERENCES = 4 };

static const double differences[DIFFERENCES] = { 0.01, 0.02, 0.03, 0.05 };

static const struct kind {
	const char *name;
	enum many_hosts_shape shape;
	int width, stages;
} kinds[] = {
	{ "DP, FSDP", MANY_FLAT, 0, 1 },
	{ "TP 4, DP", MANY_MESH, 4, 1 },
	{ "HSDP, 4 shards", MANY_HYBRID, 4, 1 },
	{ "2 stages, replicas", MANY_PIPELINE, 0, 2 },
};

static uint64_t state;

/* xorshift64*, Vigna 2016. In [0, 1). */
static double uniform(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (double)(state * 0x2545f4914f6cdd1du >> 11) / 9007199254740992.0;
}

static double between(double low, double high)
{
	return low + (high - low) * uniform();
}

/* With a width of its own, a group is on one host, or on two or four. */
static struct many_hosts_job draw(const struct kind *kind, int hosts, bool of_ranks, double difference, unsigned seed)
{
	state = 0x9e3779b97f4a7c15u * (seed + 1ul);
	for (int i = 0; i < 8; i++)
		uniform();
	int per_host = uniform() < 0.5 ? 2 : 4;
	if (hosts == 16)
		per_host = 2;
	struct many_hosts_job job = {
		.hosts = hosts,
		.per_host = kind->width ? per_host : per_host / 2,
		.width = kind->width,
		.stages = kind->stages,
		.shape = kind->shape,
		.operations = kind->shape == MANY_PIPELINE ? 8 : 20,
		.step_ms = between(300, 1500),
		.jitter = between(0, 0.1),
		.noise = exp(between(log(0.0005), log(0.02))),
		.lasts = between(0, 0.8),
		.uneven = between(0, 0.3),
		.differences = of_ranks ? difference : 0.002,
		.host_differences = of_ranks ? 0 : difference,
		.seconds = 260,
		.lose = between(0, 0.1),
		.delay_ms = 2500,
		.mixed = true,
		.mute = true,
		.seed = seed,
	};
	return job;
}

static bool names_somebody(const struct many_hosts_job *job)
{
	static struct many_hosts_result result;

	many_hosts_play(job, &result);
	for (size_t i = 0; i < result.count; i++) {
		const struct many_hosts_finding *found = &result.findings[i];
		if (found->severity < RW_WARNING || found->confidence == RW_INCONCLUSIVE || !found->rank_count)
			continue;
		fprintf(stderr, "named: seed %u, %d hosts, %d a host: after %.0f s %s\n", job->seed, job->hosts,
			job->per_host, found->at_s, found->text);
		return true;
	}
	return false;
}

static unsigned print_row(const struct kind *kind, int hosts, bool of_ranks, unsigned first, unsigned count)
{
	unsigned all = 0;

	printf("| %s, %d hosts; %s differ", kind->name, hosts, of_ranks ? "ranks" : "hosts");
	for (int i = 0; i < DIFFERENCES; i++) {
		unsigned named = 0;
		for (unsigned seed = first; seed < first + count; seed++) {
			struct many_hosts_job job = draw(kind, hosts, of_ranks, differences[i], seed);
			named += names_somebody(&job);
		}
		printf(" | %u", named);
		fflush(stdout);
		all += named;
	}
	printf(" |\n");
	return all;
}

int main(int argument_count, char **arguments)
{
	unsigned first = argument_count > 1 ? (unsigned)atoi(arguments[1]) : 1,
		 count = argument_count > 2 ? (unsigned)atoi(arguments[2]) : 5;
	unsigned named = 0;

	printf("| healthy, of %u jobs each", count);
	for (int i = 0; i < DIFFERENCES; i++)
		printf(" | ± %g %%", differences[i] * 100);
	printf(" |\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		for (int hosts = 2; hosts <= 16; hosts *= 2)
			for (int of_ranks = 0; of_ranks < 2; of_ranks++)
				if (kinds[i].stages < 2 || hosts > 2)
					named += print_row(&kinds[i], hosts, of_ranks, first, count);
	return named != 0;
}
