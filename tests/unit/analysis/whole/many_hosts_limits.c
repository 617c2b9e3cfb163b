/* SPDX-License-Identifier: MIT */
/*
 * Prints the smallest share of the step by which an evenly slow rank, or host, of a job on many hosts is named from
 * messages in five of six jobs, within 120 s and within 280 s, by the median absolute deviation (MAD) of the ranks'
 * noise: a table of docs/accuracy.md, "Many hosts". usage: many_hosts_limits [FIRST-SEED]. Exit status: 1 if another
 * rank or host was named.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/analysis/jobs/many_hosts.h"

enum { PLAYS = 6, MUST = 5, AT_S = 20, SOON_S = 120, LATER_S = 280, SHARES = 9, MADS = 4 };

static const double shares[SHARES] = { 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1 },
		    mads[MADS] = { 0.001, 0.0025, 0.005, 0.01 };

static const struct kind {
	const char *name;
	enum many_hosts_shape shape;
	int hosts, per_host;
	enum many_hosts_fault fault;
} kinds[] = {
	{ "a rank: one communicator of 16, two on a host", MANY_FLAT, 8, 2, MANY_SLOW_RANK },
	{ "a rank: HSDP, 4 shards, 4 replicas, two on a host", MANY_HYBRID, 8, 2, MANY_SLOW_RANK },
	{ "a rank: TP 4 on each host, DP 8", MANY_MESH, 8, 4, MANY_SLOW_RANK },
	{ "a host: TP 4 on each host, DP 8", MANY_MESH, 8, 4, MANY_SLOW_HOST },
};

static bool is_right(const struct many_hosts_job *job, const struct many_hosts_finding *found)
{
	if (job->fault == MANY_SLOW_RANK)
		return found->rank_count == 1 && found->ranks[0] == job->rank;
	return found->scope == RW_SCOPE_HOST && found->ranks[0] / job->per_host == job->rank / job->per_host;
}

/* A rank of a slow host is slow. */
static bool is_true(const struct many_hosts_job *job, const struct many_hosts_finding *found)
{
	return is_right(job, found) ||
	       (job->fault == MANY_SLOW_HOST && found->ranks[0] / job->per_host == job->rank / job->per_host);
}

/* After how many seconds it was named; INFINITY: never. */
static double play(const struct kind *kind, double share, double mad, unsigned seed, unsigned *wrong)
{
	static struct many_hosts_result result;
	const struct many_hosts_job job = {
		.hosts = kind->hosts,
		.per_host = kind->per_host,
		.width = 4,
		.shape = kind->shape,
		.operations = 20,
		.step_ms = 1000,
		.noise = mad / 0.6745,
		.lasts = 0.5,
		.fault = kind->fault,
		.rank = (int)(seed * 5 + 1) % (kind->hosts * kind->per_host),
		.slow = share,
		.at_s = AT_S,
		.seconds = AT_S + LATER_S,
		.lose = 0.05,
		.delay_ms = 2500,
		.mixed = true,
		.mute = true,
		.seed = seed,
	};
	double after_s = INFINITY;

	many_hosts_play(&job, &result);
	for (size_t i = 0; i < result.count; i++) {
		const struct many_hosts_finding *found = &result.findings[i];
		if (found->state != RW_FINDING_OPEN || found->severity < RW_WARNING || found->confidence == RW_INCONCLUSIVE)
			continue;
		if (is_right(&job, found))
			after_s = fmin(after_s, found->at_s - AT_S);
		else if (found->rank_count && !is_true(&job, found))
			fprintf(stderr, "wrong: %s, seed %u: %s\n", kind->name, seed, found->text), ++*wrong;
	}
	return after_s;
}

static void print_share(double share)
{
	if (share > 0)
		printf("%g %%", share * 100);
	else
		printf("–");
}

static unsigned print_limit(const struct kind *kind, double mad, unsigned first)
{
	double soon = 0, later = 0;
	unsigned wrong = 0;

	for (int i = 0; i < SHARES && soon == 0; i++) {
		int in_time = 0, named = 0;
		for (unsigned k = 0; k < PLAYS && (int)k - named <= PLAYS - MUST; k++) {
			double after_s = play(kind, shares[i], mad, first + k, &wrong);
			in_time += after_s <= SOON_S;
			named += after_s <= LATER_S;
		}
		if (named >= MUST && later == 0)
			later = shares[i];
		if (in_time >= MUST)
			soon = shares[i];
	}
	printf(" | ");
	print_share(soon);
	printf(", ");
	print_share(later);
	fflush(stdout);
	return wrong;
}

int main(int count, char **arguments)
{
	unsigned first = count > 1 ? (unsigned)atoi(arguments[1]) : 1, wrong = 0;

	printf("| slow, evenly");
	for (int i = 0; i < MADS; i++)
		printf(" | MAD %g %%", mads[i] * 100);
	printf(" |\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		printf("| %s", kinds[i].name);
		for (int k = 0; k < MADS; k++)
			wrong += print_limit(&kinds[i], mads[k], first);
		printf(" |\n");
	}
	return wrong != 0;
}
