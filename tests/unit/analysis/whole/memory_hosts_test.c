/* SPDX-License-Identifier: MIT */
/*
 * As memory_test.c, of what hosts say to each other and what is judged of it: both halves give back what they take, and
 * of each place that asks for memory several requests are refused, one in each run of a job. Nobody is accused for
 * that.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "analysis/node/node_half.h"
#include "tests/unit/analysis/jobs/counted_memory.h"
#include "tests/unit/analysis/jobs/many_hosts.h"

enum { SITES = 256, TIMES = 6 };

/* Where the halves ask for memory. */
static struct {
	const void *of[SITES];
	unsigned long asked[SITES]; /* of this run */
	bool done[SITES];
	unsigned int count;
	unsigned int refused; /* which of them gets none, … */
	unsigned long at;     /* … at which time; 0: all do */
} sites;

static bool is_refused(const void *site)
{
	unsigned int i = 0;

	while (i < sites.count && sites.of[i] != site)
		i++;
	cr_assert_lt(i, SITES);
	sites.of[i] = site;
	sites.count = i == sites.count ? i + 1 : sites.count;
	return ++sites.asked[i] == sites.at && i == sites.refused;
}

/* What is refused is lost, and the next message or look brings it again: to who plays the job it is no error. */
int __real_job_half_take(struct job_half *half, const void *bytes, size_t length, uint64_t now_ns, const char **why);
int __wrap_job_half_take(struct job_half *half, const void *bytes, size_t length, uint64_t now_ns, const char **why);
int __wrap_job_half_take(struct job_half *half, const void *bytes, size_t length, uint64_t now_ns, const char **why)
{
	counted_memory.inside++;
	int err = __real_job_half_take(half, bytes, length, now_ns, why);
	counted_memory.inside--;
	return sites.at ? 0 : err;
}

void __real_job_half_tick(struct job_half *half, uint64_t now_ns);
void __wrap_job_half_tick(struct job_half *half, uint64_t now_ns);
void __wrap_job_half_tick(struct job_half *half, uint64_t now_ns)
{
	counted_memory.inside++;
	__real_job_half_tick(half, now_ns);
	counted_memory.inside--;
}

/* What is sent is kept by the test. */
struct sending {
	node_half_send *send;
	void *argument;
};

static void send_outside(void *argument, const void *bytes, size_t length)
{
	const struct sending *sending = argument;

	counted_memory.inside--;
	sending->send(sending->argument, bytes, length);
	counted_memory.inside++;
}

void __real_node_half_tick(struct node_half *half, uint64_t now_ns, node_half_send *send, void *argument);
void __wrap_node_half_tick(struct node_half *half, uint64_t now_ns, node_half_send *send, void *argument);
void __wrap_node_half_tick(struct node_half *half, uint64_t now_ns, node_half_send *send, void *argument)
{
	struct sending sending = { send, argument };

	counted_memory.inside++;
	__real_node_half_tick(half, now_ns, send_outside, &sending);
	counted_memory.inside--;
}

int __real_node_half_ask(struct node_half *half, const void *bytes, size_t length, uint64_t now_ns, const char **why);
int __wrap_node_half_ask(struct node_half *half, const void *bytes, size_t length, uint64_t now_ns, const char **why);
int __wrap_node_half_ask(struct node_half *half, const void *bytes, size_t length, uint64_t now_ns, const char **why)
{
	counted_memory.inside++;
	int err = __real_node_half_ask(half, bytes, length, now_ns, why);
	counted_memory.inside--;
	return sites.at ? 0 : err;
}

static const struct many_hosts_job jobs[] = {
	{ .hosts = 2,
	  .per_host = 2,
	  .shape = MANY_FLAT,
	  .fault = MANY_SLOW_RANK,
	  .rank = 1,
	  .slow = 0.5,
	  .in_fsync = true },
	{ .hosts = 4, .per_host = 2, .shape = MANY_MESH, .fault = MANY_SLOW_HOST, .rank = 2, .slow = 0.5 },
	{ .hosts = 4,
	  .per_host = 2,
	  .stages = 2,
	  .shape = MANY_PIPELINE,
	  .fault = MANY_SLOW_RANK,
	  .rank = 4,
	  .slow = 1 },
	{ .hosts = 3, .per_host = 1, .shape = MANY_FLAT, .fault = MANY_HUNG, .rank = 2, .evidence = true },
	{ .hosts = 4, .per_host = 2, .shape = MANY_MESH, .fault = MANY_KILLED, .rank = 5 },
	{ .hosts = 2, .per_host = 2, .shape = MANY_FLAT, .fault = MANY_DESYNC, .rank = 3 },
	{ .hosts = 3, .per_host = 2, .shape = MANY_FLAT, .fault = MANY_HOST_LOST, .rank = 2, .restart_s = 6 },
	{ .hosts = 2,
	  .per_host = 2,
	  .shape = MANY_MESH,
	  .fault = MANY_OTHER_CALL,
	  .rank = 1,
	  .lose = 0.1,
	  .delay_ms = 300 },
	{ .hosts = 3,
	  .per_host = 2,
	  .shape = MANY_MESH,
	  .fault = MANY_OTHER_BITS,
	  .scanned = 1,
	  .rank = 1,
	  .lose = 0.1,
	  .delay_ms = 300 },
	{ .hosts = 3,
	  .per_host = 1,
	  .shape = MANY_FLAT,
	  .fault = MANY_OTHER_BITS,
	  .scanned = 1,
	  .rank = 1,
	  .step_ms = 100 },
	{ .hosts = 2, .per_host = 2, .shape = MANY_FLAT, .fault = MANY_HEALTHY, .interposed = 1 },
};
enum { JOBS = sizeof(jobs) / sizeof(*jobs) };

static bool is_faulty(const struct many_hosts_job *job, int32_t rank)
{
	bool by_host = job->fault == MANY_SLOW_HOST || job->fault == MANY_HOST_LOST;

	return job->fault != MANY_HEALTHY && (by_host ? rank / job->per_host == job->rank / job->per_host : rank == job->rank);
}

static bool is_certain(const struct many_hosts_finding *found)
{
	return found->state == RW_FINDING_OPEN && found->severity >= RW_WARNING && found->confidence != RW_INCONCLUSIVE;
}

/* Returns how many findings name somebody. */
static size_t play_one(unsigned int number)
{
	static struct many_hosts_result result;
	struct many_hosts_job job = jobs[number];
	long before = counted_memory.blocks;
	size_t named = 0;

	job.operations = 6, job.step_ms = job.step_ms > 0 ? job.step_ms : 300, job.jitter = 0.05, job.noise = 0.01,
	job.lasts = 0.5, job.uneven = 0.2, job.at_s = 8;
	job.seconds = 22, job.seed = number;
	memset(sites.asked, 0, sizeof(sites.asked));
	counted_memory.refuses = is_refused;
	many_hosts_play(&job, &result);
	counted_memory.refuses = NULL;
	cr_expect_eq(counted_memory.blocks, before,
		     "job %u: %ld blocks are left when place %u gets no memory the %lu. time", number,
		     counted_memory.blocks - before, sites.refused, sites.at);
	for (size_t i = 0; i < result.count; i++) {
		const struct many_hosts_finding *found = &result.findings[i];
		for (size_t k = 0; k < found->rank_count && is_certain(found); k++, named++)
			cr_expect(is_faulty(&job, found->ranks[k]), "job %u: %s, when place %u gets no memory the %lu. time", number,
				  found->text, sites.refused, sites.at);
	}
	return named;
}

static void refuse_each(unsigned int number)
{
	unsigned int found = sites.count;
	unsigned long asked[SITES];

	memcpy(asked, sites.asked, sizeof(asked));
	for (unsigned int i = 0; i < found; i++) {
		const unsigned long times[TIMES] = { 1, 2, 3, 5, asked[i] / 2, asked[i] };
		for (int k = 0; k < TIMES && !sites.done[i]; k++) {
			if (!times[k] || times[k] > asked[i])
				continue;
			sites.refused = i, sites.at = times[k];
			play_one(number);
			sites.at = 0;
		}
		sites.done[i] |= asked[i] > 0;
	}
}

Test(memory_hosts, that_is_refused_costs_no_crash_and_no_leak_and_accuses_nobody)
{
	size_t named = 0;

	for (unsigned int number = 0; number < JOBS; number++) {
		named += play_one(number);
		refuse_each(number);
	}
	cr_expect_geq(named, 6);
	cr_expect_geq(sites.count, 30);
}
