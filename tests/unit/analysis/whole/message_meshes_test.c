/* SPDX-License-Identifier: MIT */
/*
 * What the job half reports about jobs with several kinds of parallelism, from messages only: no host sends what it
 * found itself. Some batches are lost, the others overtake each other, and the messages in each come in any order.
 * docs/accuracy.md, "Meshes".
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/analysis/jobs/many_hosts.h"
#include "tests/sanitized.h"

enum mesh { TENSOR, CUBE, SHARDS, REPLICAS, WIDE, MESHES };

static const struct {
	const char *name;
	enum many_hosts_shape shape;
	int ranks, stages, operations;
} meshes[MESHES] = {
	[TENSOR] = { "TP4xDP2", MANY_MESH, 8, 1, 20 },
	[CUBE] = { "TP4xPP2xDP2", MANY_CUBE, 16, 2, 8 },
	[SHARDS] = { "HSDP, 4 shards x 4 replicas", MANY_HYBRID, 16, 1, 20 },
	[WIDE] = { "TP4xDP8", MANY_MESH, 32, 1, 20 },
	[REPLICAS] = { "DDP of 16", MANY_FLAT, 16, 1, 20 },
};

enum { GROUP = 4, SEEDS = 8 };

enum expected {
	NOBODY,
	RANK,    /* the one at fault, and no other */
	BOTH,    /* both at fault, and no other */
	AT_MOST, /* those at fault, some of them, or nobody: docs/accuracy.md says why */
	HOST,    /* all ranks of the host at fault, as a host */
};

struct row {
	enum mesh mesh;
	const char *what;
	enum many_hosts_fault fault;
	enum many_hosts_place place;
	enum expected expected;
	int per_host; /* which of 1, 2, 4 ranks a host; 0: each */
	bool root;    /* at fault is rank 0, from which the broadcasts come */
	bool broadcasts, kernel_times;
	bool together; /* two at fault are of one group, of four */
	double slow;   /* share of its work; 0: 0.25. Else the ranks' noise is small, too: a MAD of 0.2 % of the step */
	double lose;   /* this share of the batches never comes, and 1 % of the calls are seen by no collector; 0: 0.05,
			  and none */
	double starved_ms; /* of a healthy rank: its plugin gets no CPU for so long between two polls while it waits;
			      then noise is small */
	double host_differences; /* hosts differ for good by up to this share, either way; then noise is small */
};

static const struct row rows[] = {
	{ TENSOR, "healthy", MANY_HEALTHY, MANY_ALL_OVER, NOBODY },
	{ CUBE, "healthy", MANY_HEALTHY, MANY_ALL_OVER, NOBODY },
	{ SHARDS, "healthy", MANY_HEALTHY, MANY_ALL_OVER, NOBODY },

	{ TENSOR, "slow at its TP place", MANY_SLOW_RANK, MANY_ALL_OVER, RANK },
	{ TENSOR, "slow at its DP place", MANY_SLOW_RANK, MANY_BEFORE_DATA, RANK },
	{ CUBE, "slow at its TP place", MANY_SLOW_RANK, MANY_ALL_OVER, RANK },
	{ CUBE, "slow at its DP place", MANY_SLOW_RANK, MANY_BEFORE_DATA, RANK },
	{ CUBE, "slow before it sends", MANY_SLOW_RANK, MANY_BEFORE_SEND, RANK },
	{ SHARDS, "slow at its shard's place", MANY_SLOW_RANK, MANY_ALL_OVER, RANK },
	{ SHARDS, "slow at its replica's place", MANY_SLOW_RANK, MANY_BEFORE_DATA, RANK },

	{ TENSOR, "two slow at TP places", MANY_TWO_SLOW, MANY_ALL_OVER, BOTH },
	{ CUBE, "two slow at TP places", MANY_TWO_SLOW, MANY_ALL_OVER, BOTH },
	{ SHARDS, "two slow at shards' places", MANY_TWO_SLOW, MANY_ALL_OVER, BOTH },
	{ SHARDS, "two slow at replicas' places", MANY_TWO_SLOW, MANY_BEFORE_DATA, BOTH },
	{ REPLICAS, "two slow", MANY_TWO_SLOW, MANY_ALL_OVER, BOTH },

	{ TENSOR, "two slow of one group", MANY_TWO_SLOW, MANY_ALL_OVER, AT_MOST, .together = true },
	{ SHARDS, "two slow of one group", MANY_TWO_SLOW, MANY_ALL_OVER, AT_MOST, .together = true },

	{ REPLICAS, "broadcasts, healthy", MANY_HEALTHY, MANY_ALL_OVER, NOBODY, .broadcasts = true },
	{ TENSOR, "broadcasts, healthy", MANY_HEALTHY, MANY_ALL_OVER, NOBODY, .broadcasts = true },
	{ CUBE, "broadcasts, healthy", MANY_HEALTHY, MANY_ALL_OVER, NOBODY, .broadcasts = true },
	{ SHARDS, "broadcasts, healthy", MANY_HEALTHY, MANY_ALL_OVER, NOBODY, .broadcasts = true },
	{ REPLICAS, "broadcasts, the root slow", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, .broadcasts = true,
	  .root = true },
	{ REPLICAS, "broadcasts, a leaf slow", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, .broadcasts = true },
	{ TENSOR, "broadcasts, the root slow", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, .broadcasts = true, .root = true },
	{ TENSOR, "broadcasts, a leaf slow at its DP place", MANY_SLOW_RANK, MANY_BEFORE_DATA, RANK,
	  .broadcasts = true },
	{ CUBE, "broadcasts, the root slow", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, .broadcasts = true, .root = true },
	{ CUBE, "broadcasts, a leaf slow", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, .broadcasts = true },
	{ SHARDS, "broadcasts, the root slow", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, .broadcasts = true, .root = true },
	{ SHARDS, "broadcasts, a leaf slow at its replica's place", MANY_SLOW_RANK, MANY_BEFORE_DATA, RANK,
	  .broadcasts = true },

	{ TENSOR, "slow link", MANY_SLOW_LINK, MANY_ALL_OVER, NOBODY },
	{ CUBE, "slow link", MANY_SLOW_LINK, MANY_ALL_OVER, NOBODY },
	{ SHARDS, "slow link", MANY_SLOW_LINK, MANY_ALL_OVER, NOBODY },
	{ REPLICAS, "slow link", MANY_SLOW_LINK, MANY_ALL_OVER, NOBODY },
	{ SHARDS, "slow link, kernel times", MANY_SLOW_LINK, MANY_ALL_OVER, NOBODY, .kernel_times = true },

	{ TENSOR, "full GPU at its TP place", MANY_FULL_GPU, MANY_ALL_OVER, NOBODY },
	{ CUBE, "full GPU at its DP place", MANY_FULL_GPU, MANY_BEFORE_DATA, NOBODY },
	{ SHARDS, "full GPU at its shard's place", MANY_FULL_GPU, MANY_ALL_OVER, NOBODY },
	{ REPLICAS, "full GPU", MANY_FULL_GPU, MANY_ALL_OVER, NOBODY },
	{ TENSOR, "full GPU at its TP place, kernel times", MANY_FULL_GPU, MANY_ALL_OVER, RANK, .kernel_times = true },
	{ TENSOR, "full GPU at its DP place, kernel times", MANY_FULL_GPU, MANY_BEFORE_DATA, RANK, 1 | 2,
	  .kernel_times = true },
	{ TENSOR, "full GPU at its DP place, kernel times", MANY_FULL_GPU, MANY_BEFORE_DATA, AT_MOST, 4,
	  .kernel_times = true },
	{ CUBE, "full GPU at its TP place, kernel times", MANY_FULL_GPU, MANY_ALL_OVER, RANK, .kernel_times = true },
	{ CUBE, "full GPU at its DP place, kernel times", MANY_FULL_GPU, MANY_BEFORE_DATA, RANK, 1 | 2,
	  .kernel_times = true },
	{ CUBE, "full GPU at its DP place, kernel times", MANY_FULL_GPU, MANY_BEFORE_DATA, AT_MOST, 4,
	  .kernel_times = true },
	{ SHARDS, "full GPU at its shard's place, kernel times", MANY_FULL_GPU, MANY_ALL_OVER, RANK,
	  .kernel_times = true },
	{ SHARDS, "full GPU at its replica's place, kernel times", MANY_FULL_GPU, MANY_BEFORE_DATA, RANK,
	  .kernel_times = true },
	{ REPLICAS, "full GPU, kernel times", MANY_FULL_GPU, MANY_ALL_OVER, RANK, .kernel_times = true },
	{ SHARDS, "healthy, kernel times", MANY_HEALTHY, MANY_ALL_OVER, NOBODY, .kernel_times = true },
	{ TENSOR, "slow at its DP place, kernel times", MANY_SLOW_RANK, MANY_BEFORE_DATA, RANK, .kernel_times = true },

	{ TENSOR, "3 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, 1 | 2, .slow = 0.03 },
	{ CUBE, "3 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, 1 | 2, .slow = 0.03 },
	{ SHARDS, "3 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, .slow = 0.03 },
	{ REPLICAS, "3 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, .slow = 0.03 },
	/* Each group is on one host, and replicas are two: of these it is not known which one differs. */
	{ TENSOR, "3 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, AT_MOST, 4, .slow = 0.03 },
	{ CUBE, "3 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, AT_MOST, 4, .slow = 0.03 },
	{ TENSOR, "5 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, .slow = 0.05 },
	{ CUBE, "5 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, 1 | 2, .slow = 0.05 },
	{ CUBE, "5 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, AT_MOST, 4, .slow = 0.05 },
	{ SHARDS, "5 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, .slow = 0.05 },
	{ REPLICAS, "5 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, .slow = 0.05 },
	{ TENSOR, "10 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, .slow = 0.1 },
	{ CUBE, "10 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, .slow = 0.1 },
	{ SHARDS, "10 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, .slow = 0.1 },
	{ REPLICAS, "10 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, .slow = 0.1 },
	{ WIDE, "a host 3 % slow, evenly", MANY_SLOW_HOST, MANY_ALL_OVER, HOST, 4, .slow = 0.03 },
	{ WIDE, "3 % slow, evenly", MANY_SLOW_RANK, MANY_ALL_OVER, RANK, 4, .slow = 0.03 },
	{ WIDE, "hosts differ for good", MANY_HEALTHY, MANY_ALL_OVER, NOBODY, 4, .host_differences = 0.02 },
	{ REPLICAS, "a host 3 % slow, evenly", MANY_SLOW_HOST, MANY_ALL_OVER, HOST, 2, .slow = 0.03 },
	{ TENSOR, "healthy, polled seldom while it waits", MANY_HEALTHY, MANY_ALL_OVER, NOBODY, 1 | 2,
	  .starved_ms = 20 },
	{ REPLICAS, "healthy, polled seldom while it waits", MANY_HEALTHY, MANY_ALL_OVER, NOBODY, 1 | 2,
	  .starved_ms = 20 },
	{ TENSOR, "5 % slow, evenly, much is lost", MANY_SLOW_RANK, MANY_ALL_OVER, AT_MOST, .slow = 0.05, .lose = 0.3 },
	{ SHARDS, "5 % slow, evenly, much is lost", MANY_SLOW_RANK, MANY_ALL_OVER, AT_MOST, .slow = 0.05, .lose = 0.3 },
	{ REPLICAS, "5 % slow, evenly, much is lost", MANY_SLOW_RANK, MANY_ALL_OVER, AT_MOST, .slow = 0.05,
	  .lose = 0.3 },
	{ TENSOR, "hosts differ for good", MANY_HEALTHY, MANY_ALL_OVER, NOBODY, .host_differences = 0.02 },
	{ CUBE, "hosts differ for good", MANY_HEALTHY, MANY_ALL_OVER, NOBODY, .host_differences = 0.02 },
	{ SHARDS, "hosts differ for good", MANY_HEALTHY, MANY_ALL_OVER, NOBODY, .host_differences = 0.02 },
	{ REPLICAS, "hosts differ for good", MANY_HEALTHY, MANY_ALL_OVER, NOBODY, .host_differences = 0.02 },
	{ TENSOR, "hosts differ for good, 5 % either way", MANY_HEALTHY, MANY_ALL_OVER, NOBODY,
	  .host_differences = 0.05 },
	{ CUBE, "hosts differ for good, 5 % either way", MANY_HEALTHY, MANY_ALL_OVER, NOBODY,
	  .host_differences = 0.05 },
	{ SHARDS, "hosts differ for good, 5 % either way", MANY_HEALTHY, MANY_ALL_OVER, NOBODY,
	  .host_differences = 0.05 },
	{ REPLICAS, "hosts differ for good, 5 % either way", MANY_HEALTHY, MANY_ALL_OVER, NOBODY,
	  .host_differences = 0.05 },
	{ WIDE, "hosts differ for good, 5 % either way", MANY_HEALTHY, MANY_ALL_OVER, NOBODY, 4,
	  .host_differences = 0.05 },
};

static struct many_hosts_job job_of(const struct row *row, int per_host, unsigned seed)
{
	int ranks = meshes[row->mesh].ranks, rank = row->root ? 0 : 1 + (int)(seed * 5) % (ranks - 1);
	struct many_hosts_job job = {
		.per_host = per_host, .hosts = ranks / per_host, .width = GROUP, .stages = meshes[row->mesh].stages,
		.shape = meshes[row->mesh].shape, .operations = meshes[row->mesh].operations, .step_ms = 500, .jitter = 0.05,
		.noise = 0.02, .lasts = 0.5, .differences = 0.01, .uneven = 0.2, .fault = row->fault, .place = row->place,
		.broadcasts = row->broadcasts, .kernel_times = row->kernel_times, .slow = 0.25, .at_s = 20, .seconds = 160,
		.lose = 0.05, .delay_ms = 2500, .mixed = true, .mute = true, .seed = 100 * (unsigned)row->mesh + seed,
	};

	if (row->slow > 0 || row->host_differences > 0 || row->starved_ms > 0) {
		job.slow = row->slow;
		job.noise = 0.003;
		job.differences = 0.002;
		job.twice = 0.05;
		job.seconds = 260;
		job.host_differences = row->host_differences;
		job.starved_ms = row->starved_ms;
	}
	if (row->lose > 0) {
		job.lose = row->lose;
		job.drop = 0.01;
	}
	if (row->place == MANY_BEFORE_SEND && rank / GROUP % 2)
		rank -= GROUP; /* only the first stage sends */
	job.rank = rank;
	job.other_rank = (rank + (row->together ? 0 : ranks / 2)) % ranks / GROUP * GROUP + (rank + 1) % GROUP;
	if (row->fault == MANY_SLOW_LINK && (row->mesh == SHARDS || row->mesh == REPLICAS))
		job.slow /= job.operations; /* there are so many in a step */
	return job;
}

/* One job of a row, and which ranks were named in it. */
struct played {
	const struct row *row;
	struct many_hosts_job job;
	bool named[MANY_RANKS];
	char what[192];
};

static bool is_at_fault(const struct played *played, int32_t rank)
{
	if (played->row->expected == HOST)
		return rank / played->job.per_host == played->job.rank / played->job.per_host;
	return played->row->expected != NOBODY &&
	       (rank == played->job.rank || (played->row->fault == MANY_TWO_SLOW && rank == played->job.other_rank));
}

/* Of scope job are those that name nobody: operations take longer, and their ranks are all of the communicator. So they
 * do with a slow link, and with a GPU that other kernels fill where NCCL's kernels report no times. */
static void note(struct played *played, const struct many_hosts_finding *found)
{
	if (found->severity < RW_WARNING || found->confidence == RW_INCONCLUSIVE)
		return;
	if (found->kind == RW_KIND_SLOWDOWN && found->scope == RW_SCOPE_JOB) {
		bool full = played->row->fault == MANY_FULL_GPU && !played->row->kernel_times;
		cr_expect(full || played->row->fault == MANY_SLOW_LINK, "%s: %s", played->what, found->text);
		return;
	}
	cr_expect_eq(found->kind, RW_KIND_STRAGGLER, "%s: %s", played->what, found->text);
	bool whole_host = found->scope == RW_SCOPE_HOST && (played->row->together || played->row->expected == HOST) &&
			  found->rank_count == (size_t)played->job.per_host;
	cr_expect((found->scope == RW_SCOPE_RANK && played->row->expected != HOST) || whole_host, "%s: %s",
		  played->what, found->text);
	for (size_t i = 0; i < found->rank_count; i++) {
		cr_expect(is_at_fault(played, found->ranks[i]), "%s: %s", played->what, found->text);
		played->named[found->ranks[i]] = true;
	}
}

/* Are all that should be named named? By the job half; where a whole group is on one host, by that host, which compares
 * more ranks of it. */
static bool play(const struct row *row, int per_host, unsigned seed)
{
	static struct many_hosts_result result;
	struct played played = { .row = row, .job = job_of(row, per_host, seed) };

	snprintf(played.what, sizeof(played.what), "%s: %s, rank %d, %d a host, seed %u", meshes[row->mesh].name,
		 row->what, played.job.rank, per_host, seed);
	many_hosts_play(&played.job, &result);
	for (size_t i = 0; i < result.count; i++)
		note(&played, &result.findings[i]);
	for (size_t i = 0; i < result.node_count; i++)
		note(&played, &result.of_nodes[i]);
	cr_expect(result.summary.missed > 0, "%s: some batches were lost", played.what);
	cr_expect_gt(result.summary.rows, 80, "%s: %lu rows", played.what, result.summary.rows);
	bool all = row->expected == NOBODY ||
		   (played.named[played.job.rank] && (row->fault != MANY_TWO_SLOW || played.named[played.job.other_rank]));
	if (!all)
		fprintf(stderr, "not named: %s\n", played.what);
	return all || row->expected == AT_MOST;
}

/* Of the numbers of ranks a host, 1, 2 and 4, the one with which a row is played where one is enough. */
static int chosen_per_host(size_t row)
{
	size_t power = row % 3;

	while (rows[row].per_host && !(rows[row].per_host & 1 << power))
		power = (power + 1) % 3;
	return 1 << power;
}

/* All seeds in `scripts/test long`; else one for each number of ranks a host, another for each, and where somebody is
 * at fault only one number: of such rows there are many alike. A sanitizer plays each sixteenth row once. */
static bool is_played(size_t row, int per_host, unsigned seed)
{
	if (rows[row].per_host && !(rows[row].per_host & per_host))
		return false;
	if (getenv("RANKWATCH_TEST_LONG"))
		return true;
	if (SANITIZED)
		return per_host == 2 && !seed && row % 16 == 0;
	return seed == (row + (unsigned)per_host) % 3 && (rows[row].expected == NOBODY || per_host == chosen_per_host(row));
}

/* One in nine of a row may be missed: noise of so few others is not known well after two minutes. */
Test(message_meshes, the_rank_at_fault_is_named_and_no_other, .timeout = 600)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		unsigned plays = 0, named = 0;
		for (int per_host = 1; per_host <= GROUP; per_host *= 2) {
			for (unsigned seed = 0; seed < SEEDS; seed++) {
				if (!is_played(i, per_host, seed))
					continue;
				named += play(&rows[i], per_host, seed);
				plays++;
			}
		}
		cr_expect_geq(named + plays / 9, plays, "%s: %s: %u of %u", meshes[rows[i].mesh].name, rows[i].what, named, plays);
	}
}
