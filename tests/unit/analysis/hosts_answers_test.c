/* SPDX-License-Identifier: MIT */
/*
 * What hosts say to each other of jobs on several of them, and what is judged of it, as answers_test.c holds what one host
 * says: a number is made of every byte that a collector sends and of every key of every finding. Every shape is played with
 * every fault, twice.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "kept_answers.h"
#include "many_hosts.h"
#include "tests/sanitized.h"

static void watch(const void *bytes, size_t length)
{
	const unsigned char *byte = bytes;
	uint64_t number = 0xcbf29ce484222325;

	for (size_t i = 0; i < length; i++)
		number = (number ^ byte[i]) * 0x100000001b3;
	fprintf(kept.all, "batch of %zu %016lx\n", length, number);
}

static void hear(const struct rw_finding *finding, bool of_node)
{
	(of_node ? kept_keys : kept_finding)(finding);
}

static bool play_hosts(unsigned int number)
{
	static struct many_hosts_result result;
	static const double slows[] = { 0.25, 0.5, 0.1, 2 };
	struct many_hosts_job job = {
		.hosts = 2 + 2 * (int)(number % 3), .per_host = 1 + (int)(number / 3 % 3), .stages = 2, .shape = number % 3, .operations = 6,
		.step_ms = 300 + 100 * (number % 4), .jitter = number % 4 ? 0.05 : 0, .noise = number % 5 ? 0.02 : 0, .lasts = 0.5,
		.differences = 0.01, .uneven = 0.2, .sampled = number % 7 == 6 ? 4 : 0, .evidence = number % 2,
		.fault = number % (MANY_PAUSE + 1), .slow = slows[number / 4 % 4], .at_s = 10, .pause_s = 4 + number % 5, .seconds = 40,
		.lose = number % 4 == 3 ? 0.1 : 0, .delay_ms = number % 4 == 3 ? 700 : 0, .restart_s = number % 6 == 5 ? 21 : 0,
		.generation = (int)(number % 3), .seed = number,
	};

	job.rank = (int)(number * 5) % (job.hosts * job.per_host);
	many_hosts_play(&job, &result);
	const struct job_half_summary *is = &result.summary;

	fprintf(kept.answers, "  %u hosts, %u silent, %u ranks of %d, %u communicators, %lu batches, %lu messages, %lu missed, %lu ignored, "
		"%lu cuts, %lu unaligned, %u findings\n", is->hosts, is->silent_hosts, is->ranks, is->ranks_total, is->communicators, is->batches,
		is->messages, is->missed, is->ignored, is->cuts, is->unaligned, is->findings_opened);
	return number < 77;
}

Test(hosts_answers, about_jobs_on_several_hosts)
{
	if (SANITIZED)
		cr_skip_test("too many operations for a sanitizer; the job half's own tests play such jobs");
	many_hosts_watch(watch);
	many_hosts_listen(hear);
	kept_compare("hosts", play_hosts);
}
