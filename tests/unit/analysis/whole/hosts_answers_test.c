/* SPDX-License-Identifier: MIT */
/*
 * What hosts say to each other of jobs on several of them, and what is judged of it, as answers_test.c holds what one
 * host says: a number is made of every byte that a collector sends, of every key of every finding, and of what is known
 * for those who look in the end. Every shape is played with every fault, several times, with habits that are drawn.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/numbers/splitmix.h"
#include "tests/unit/analysis/jobs/job_shown.h"
#include "tests/unit/analysis/whole/kept_answers.h"
#include "tests/unit/analysis/jobs/many_hosts.h"
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

static void look(const struct job_half *half)
{
	struct job_half_summary summary;
	struct job_view view;

	job_half_look(half, &view);
	job_half_summarise(half, &summary);
	job_shown(kept.all, &view, &summary);
}

static void play(const struct many_hosts_job *job)
{
	static struct many_hosts_result result;
	const struct job_half_summary *is = &result.summary;

	many_hosts_play(job, &result);
	fprintf(kept.answers,
		"  %u hosts, %u silent, %u ranks of %d, %u communicators, %lu batches, %lu messages, %lu missed, %lu "
		"ignored, "
		"%lu rows, %lu unaligned, %u findings\n",
		is->hosts, is->silent_hosts, is->ranks, is->ranks_total, is->communicators, is->batches, is->messages,
		is->missed, is->ignored, is->rows, is->unaligned, is->findings_opened);
}

static bool play_hosts(unsigned int number)
{
	static const double slows[] = { 0.25, 0.5, 0.1, 2 };
	struct many_hosts_job job = {
		.hosts = 2 + 2 * (int)(number % 3),
		.per_host = 1 + (int)(number / 3 % 3),
		.stages = 2,
		.shape = number % 3,
		.operations = 6,
		.step_ms = 300 + 100 * (number % 4),
		.jitter = number % 4 ? 0.05 : 0,
		.noise = number % 5 ? 0.02 : 0,
		.lasts = 0.5,
		.differences = 0.01,
		.uneven = 0.2,
		.sampled = number % 7 == 6 ? 4 : 0,
		.evidence = number % 2,
		.fault = number % (MANY_PAUSE + 1),
		.slow = slows[number / 4 % 4],
		.at_s = 10,
		.pause_s = 4 + number % 5,
		.seconds = 40,
		.lose = number % 4 == 3 ? 0.1 : 0,
		.delay_ms = number % 4 == 3 ? 700 : 0,
		.restart_s = number % 6 == 5 ? 21 : 0,
		.generation = (int)(number % 3),
		.seed = number,
	};

	job.rank = (int)(number * 5) % (job.hosts * job.per_host);
	play(&job);
	return number < 77;
}

static uint64_t drawn(uint64_t *random, uint64_t below)
{
	return splitmix_next(random) % below;
}

/* Of the job: what is seen of it, and what becomes of its messages. */
static void draw_habits(struct many_hosts_job *job, uint64_t *random)
{
	job->sampled = !drawn(random, 6) ? 4 : 0;
	job->scanned = job->fault == MANY_OTHER_BITS || !drawn(random, 4) ? 1 + (int)drawn(random, 3) : 0;
	job->evidence = drawn(random, 2);
	job->in_fsync = !drawn(random, 3);
	job->second_thread = !drawn(random, 3);
	job->throttled = !drawn(random, 3);
	job->broadcasts = !drawn(random, 4);
	job->kernel_times = !drawn(random, 4);
	job->lose = drawn(random, 3) ? 0 : 0.1;
	job->delay_ms = drawn(random, 3) ? 0 : 900;
	job->mixed = !drawn(random, 4);
	job->deaf = !drawn(random, 8);
	job->mute = !drawn(random, 2);
	job->drop = !drawn(random, 12) ? 0.01 : 0;
	job->join_s = !drawn(random, 8) ? 6 : 0;
	job->interposed = !drawn(random, 6) ? 1 : 0;
	job->restart_s = !drawn(random, 8) ? 23 : 0;
	job->watchdog_ms = !drawn(random, 4) ? 15000 : 0;
}

static bool play_meshes(unsigned int number)
{
	const enum many_hosts_fault last_fault = MANY_CIRCLE;
	const enum many_hosts_shape last_shape = MANY_TWICE;
	static const double slows[] = { 0.05, 0.1, 0.25, 0.6 };
	uint64_t random = number * UINT64_C(7919) + 5;
	struct many_hosts_job job = {
		.fault = number % (last_fault + 1),
		.shape = number / (last_fault + 1) % (last_shape + 1),
		.stages = 2,
		.operations = 4,
		.step_ms = 400,
		.uneven = 0.2,
		.lasts = 0.5,
		.differences = 0.01,
		.at_s = 12,
		.pause_s = 6,
		.seconds = 45,
		.seed = number,
	};

	/* Only pipelines send, and a circle needs two communicators. */
	if (job.fault == MANY_SENDS && job.shape != MANY_PIPELINE && job.shape != MANY_CUBE)
		job.fault = MANY_SLOW_LINK;
	if (job.fault == MANY_CIRCLE && job.shape != MANY_MESH && job.shape != MANY_TWICE)
		job.fault = MANY_SLOW_RANK;
	job.per_host = 1 << drawn(&random, 3);
	job.width = job.per_host == 4 ? 0 : 4;
	job.hosts = (job.shape >= MANY_PIPELINE ? 16 : 8) / job.per_host;
	job.rank = (int)drawn(&random, (uint64_t)(job.hosts * job.per_host));
	job.other_rank = job.fault == MANY_TWO_SLOW ? (job.rank + 1 + (int)drawn(&random, 3)) % (job.hosts * job.per_host) : 0;
	job.place = (enum many_hosts_place)drawn(&random, 3);
	job.slow = slows[drawn(&random, 4)];
	job.jitter = 0.05 * (double)drawn(&random, 3);
	job.noise = 0.01 * (double)drawn(&random, 3);
	draw_habits(&job, &random);
	play(&job);
	return number + 1 < 2 * (last_fault + 1) * (last_shape + 1);
}

Test(hosts_answers, about_jobs_on_several_hosts)
{
	if (SANITIZED)
		cr_skip_test("too many operations for a sanitizer; the job half's own tests play such jobs");
	many_hosts_watch(watch);
	many_hosts_listen(hear);
	kept_compare("hosts", play_hosts);
}

Test(hosts_answers, about_every_fault_in_every_mesh)
{
	if (SANITIZED)
		cr_skip_test("too many operations for a sanitizer; the job half's own tests play such jobs");
	many_hosts_watch(watch);
	many_hosts_listen(hear);
	many_hosts_look(look);
	kept.without_repeats = true;
	kept_compare("meshes", play_meshes);
}
