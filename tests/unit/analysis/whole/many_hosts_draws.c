/* SPDX-License-Identifier: MIT */
/*
 * How often the job half is right: many_hosts_draws FIRST COUNT plays so many drawn jobs of each kind, with lost and
 * late batches, and prints what was named, as a table of docs/accuracy.md, "Many hosts".
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/analysis/jobs/many_hosts.h"

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

static struct many_hosts_job draw(enum many_hosts_fault fault, unsigned seed)
{
	static const int hosts[] = { 4, 8 };

	state = 0x9e3779b97f4a7c15u * (seed + 1ul);
	for (int i = 0; i < 8; i++)
		uniform();
	struct many_hosts_job job = {
		.hosts = hosts[uniform() < 0.5], .per_host = uniform() < 0.4 ? 1 : 2, .stages = 2,
		.shape = (enum many_hosts_shape)(uniform() * 3), .step_ms = between(200, 1500), .jitter = between(0, 0.3),
		.noise = between(0, 0.06), .lasts = between(0, 0.8), .differences = between(0, 0.01), .uneven = between(0, 0.6),
		.fault = fault, .slow = between(0.15, 0.5), .at_s = 30, .pause_s = between(3, 12), .seconds = 150,
		.lose = between(0, 0.3), .delay_ms = between(0, 4000), .seed = seed, .evidence = true,
	};
	if (uniform() < 0.2)
		job.join_s = between(5, 30);
	if (uniform() < 0.2)
		job.restart_s = between(20, 100);
	if (uniform() < 0.2)
		job.interposed = 1 + (int)(uniform() * job.hosts);
	job.operations = job.shape == MANY_PIPELINE ? 8 : 20;
	job.rank = (int)(uniform() * job.hosts * job.per_host);
	return job;
}

static bool is_right(const struct many_hosts_job *job, const struct many_hosts_finding *found)
{
	int host = job->rank / job->per_host;

	if (job->fault == MANY_HEALTHY || job->fault == MANY_PAUSE)
		return false;
	for (size_t i = 0; i < found->rank_count; i++) {
		bool of_host = found->ranks[i] / job->per_host == host;
		if (job->fault == MANY_SLOW_HOST || job->fault == MANY_HOST_LOST ? !of_host : found->ranks[i] != job->rank)
			return false;
	}
	return true;
}

struct tally {
	unsigned right, wrong, missed, unsure, by_node;
	double after_s;
};

static void judge(const struct many_hosts_job *job, const struct many_hosts_result *result, struct tally *tally)
{
	bool right = false, wrong = false, unsure = false, by_node = false;

	for (size_t i = 0; i < result->count; i++) {
		const struct many_hosts_finding *found = &result->findings[i];
		if (found->state == RW_FINDING_CLOSED || found->severity < RW_WARNING)
			continue;
		unsure |= found->confidence == RW_INCONCLUSIVE;
		if (found->confidence == RW_INCONCLUSIVE || !found->rank_count)
			continue;
		if (is_right(job, found)) {
			tally->after_s += right ? 0 : found->at_s - job->at_s;
			right = true;
			continue;
		}
		wrong = true;
		printf("  wrong: seed %u, shape %d: %s\n", job->seed, job->shape, found->text);
	}
	for (size_t i = 0; i < result->node_count; i++)
		by_node |= is_right(job, &result->of_nodes[i]);
	tally->right += right;
	tally->wrong += wrong;
	tally->unsure += unsure && !right;
	tally->by_node += by_node && !right;
	tally->missed += !right && !by_node;
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		enum many_hosts_fault fault;
	} kinds[] = {
		{ "healthy", MANY_HEALTHY },      { "one pause", MANY_PAUSE },       { "slow rank", MANY_SLOW_RANK },
		{ "slow host", MANY_SLOW_HOST },  { "hung", MANY_HUNG },             { "killed", MANY_KILLED },
		{ "host lost", MANY_HOST_LOST },  { "other call, hangs", MANY_DESYNC }, { "other call, goes on", MANY_OTHER_CALL },
	};
	unsigned first = count > 1 ? (unsigned)atoi(arguments[1]) : 1,
		 draws = count > 2 ? (unsigned)atoi(arguments[2]) : 20, wrong = 0;

	printf("| fault | jobs | named | by its host | inconclusive | not named | wrong | after "
	       "|\n|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct tally tally = { 0 };
		for (unsigned seed = first; seed < first + draws; seed++) {
			static struct many_hosts_result result;
			struct many_hosts_job job = draw(kinds[i].fault, seed);
			many_hosts_play(&job, &result);
			judge(&job, &result, &tally);
		}
		printf("| %s | %u | %u | %u | %u | %u | %u | %.0f s |\n", kinds[i].name, draws, tally.right,
		       tally.by_node, tally.unsure, tally.missed, tally.wrong,
		       tally.right ? tally.after_s / tally.right : NAN);
		fflush(stdout);
		wrong += tally.wrong;
	}
	return wrong != 0;
}
