/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "analysis/numbers/evenly.h"
#include "analysis/known/job.h"
#include "analysis/measure/lateness.h"
#include "analysis/late/sums.h"

#include "tests/unit/analysis/jobs/even.h"
#include "tests/unit/analysis/jobs/seeds.h"

/* Eight ranks, 160 operations of a millisecond and a bit in a step. */
static struct even_job tensor_parallel(unsigned seed)
{
	return (struct even_job){ .ranks = 8, .operations = 160, .compute_ms = 1, .jitter = 0.02, .slow_rank = -1,
				  .seconds = 130, .seed = seed };
}

static struct even_result play(const struct even_job *job)
{
	struct even_result result;

	even_play(job, &result);
	cr_expect_eq(result.wrong, 0, "seed %u: %s", job->seed, result.wrong_text);
	return result;
}

Test(sums, a_gpu_that_is_evenly_slow_by_a_tenth_is_named_with_its_share)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = tensor_parallel(seed);
		job.slow_rank = (int)(seed % 8);
		job.slow = 0.1;
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0, "seed %u", seed);
		cr_expect_leq(result.found_s, 120, "seed %u: %f", seed, result.found_s);
		cr_expect_float_eq(result.share, 0.1 / 1.15, 0.03, "seed %u: %f", seed, result.share);
		cr_expect(result.spread_out && result.likely);
	}
}

/* 40 ms before each operation: so few reads of the GPU page add little noise. */
static struct even_job longer_work(unsigned seed)
{
	return (struct even_job){ .ranks = 8, .operations = 20, .compute_ms = 40, .jitter = 0.005, .noise = 0.005, .lasts = 0.5,
				  .slow_rank = -1, .seconds = 130, .seed = seed };
}

/* The others differ by little, so that the time by which this one works longer is no difference of that kind. */
Test(sums, a_gpu_that_is_evenly_slow_by_a_fiftieth_is_named_within_two_minutes)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = longer_work(seed);
		job.slow_rank = (int)(seed % 8);
		job.slow = 0.02;
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0, "seed %u", seed);
		cr_expect_leq(result.found_s, 120, "seed %u: %f", seed, result.found_s);
		cr_expect_float_eq(result.share, 0.02, 0.006, "seed %u: %f", seed, result.share);
	}
}

/* 0.74 % of a step are a median absolute deviation of 0.5 %. Each odd one is late before one operation of each step, which shows it; in job 19
 * single windows are not late by enough. Of 40 such jobs three take longer: 13, 17 and 20. */
Test(sums, a_rank_that_is_slow_by_a_fiftieth_is_named_among_noise_that_does_not_last)
{
	static const unsigned numbers[] = { 19, 0, 1, 2, 3, 4, 5, 6 };

	for (unsigned i = 0; i < seeds(sizeof(numbers) / sizeof(*numbers)); i++) {
		struct even_job job = longer_work(numbers[i]);
		job.ranks = 16;
		job.noise = 0.0074;
		job.slow_rank = (int)(numbers[i] % 16);
		if (numbers[i] % 2) {
			job.stall_every = job.operations;
			job.stall_ms = 0.02 * job.operations * job.compute_ms;
		} else {
			job.slow = 0.02;
		}
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0, "job %u", numbers[i]);
		cr_expect_leq(result.found_s, 120, "job %u: %f", numbers[i], result.found_s);
	}
}

/* Where ranks differ for good by 1 %, one that works longer than the others by 2 % is one of these. */
Test(sums, a_rank_that_differs_no_more_than_ranks_do_is_not_named)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = longer_work(seed);
		job.differences = 0.01;
		job.slow_rank = (int)(seed % 8);
		job.slow = 0.01;
		cr_expect_eq(play(&job).found, 0, "seed %u", seed);
	}
}

Test(sums, a_slow_rank_is_named_and_no_other_of_its_group_in_a_mesh)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = tensor_parallel(seed);
		job.tensor_parallel = seed % 2 ? 2 : 4;
		job.slow_rank = (int)(seed * 3 % 8);
		job.slow = 0.2;
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0, "seed %u", seed);
	}
}

/* Before one operation in 24 the host does something else for 40 ms; sizes vary, and nothing repeats. */
Test(sums, needs_no_steps)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = tensor_parallel(seed);
		job.no_steps = job.host = true;
		job.compute_ms = 5;
		job.slow_rank = (int)(seed % 8);
		job.stall_every = 24;
		job.stall_ms = 40;
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0, "seed %u", seed);
		cr_expect_float_eq(result.share, 40 / (24 * 5.1 + 40), 0.04, "seed %u: %f", seed, result.share);
		cr_expect_not(result.spread_out);
	}
}

/* Most of what it is late by is too little in each operation to tell whose it is. Of the rest its GPU's part is smaller than its host's, in the
 * second job larger. */
Test(sums, the_smaller_part_of_a_lateness_is_not_called_its_kind)
{
	static const struct {
		int stall_device, late_kind;
	} cases[] = { { 3, RW_LATE_NONE }, { 1, RW_LATE_DEVICE } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct even_job job = tensor_parallel(3);
		job.slow_rank = 2;
		job.slow = 0.2;
		job.stall_every = 200;
		job.stall_ms = 15;
		job.host = true;
		job.stall_device = cases[i].stall_device;
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0);
		cr_expect_eq(result.late_kind, cases[i].late_kind, "%zu: %d", i, result.late_kind);
	}
}

/* Four stages, four replicas. */
static struct even_job pipeline(unsigned seed)
{
	return (struct even_job){ .ranks = 16, .stages = 4, .operations = 8, .compute_ms = 40, .jitter = 0.02,
				  .slow_rank = -1, .seconds = 200, .seed = seed };
}

Test(sums, a_stage_is_compared_with_the_same_stage_of_the_other_replicas)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = pipeline(seed);
		job.slow_rank = (int)(seed * 5 % 16);
		job.slow = 0.5;
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0, "seed %u, rank %d", seed, job.slow_rank);
	}
}

/* Steps take 2.2 s. A rank that is slow from the first step on has no past to be compared with, but replicas. */
static struct even_job pipeline_of_long_steps(unsigned seed)
{
	struct even_job job = pipeline(seed);

	job.compute_ms = 200;
	job.noise = 0.005;
	job.lasts = 0.5;
	job.seconds = 145;
	return job;
}

Test(sums, a_stage_that_is_slow_from_the_first_step_is_named_within_sixty_steps)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = pipeline_of_long_steps(seed);
		job.slow_rank = (int)(seed * 5 % 16);
		if (seed % 2) {
			job.stall_every = job.operations;
			job.stall_ms = 140;
		} else {
			job.slow = 0.09;
		}
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0, "seed %u, rank %d", seed, job.slow_rank);
	}
}

Test(sums, long_steps_of_healthy_pipelines_name_nobody)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = pipeline_of_long_steps(seed);
		job.uneven = seed % 2 ? 0.6 : 0;
		job.differences = 0.02;
		job.noise = 0.03;
		job.lasts = 0.9;
		play(&job);
	}
}

Test(sums, uneven_stages_are_no_fault)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = pipeline(seed);
		job.uneven = 0.6;
		job.differences = 0.01;
		play(&job);
	}
}

/* All wait for each other for a tenth of the time. One has a plugin that looks at its GPU when nothing is under way, and sees
 * no waits. */
Test(sums, who_looks_at_other_times_is_not_late)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = tensor_parallel(seed);
		job.jitter = 0.3;
		job.starved_rank = 1 + (int)(seed % 8);
		play(&job);
	}
}

/* Ranks that differ for good by 2 %, noise from step to step, noise that lasts. */
Test(sums, of_healthy_ranks_name_none)
{
	for (unsigned seed = 0; seed < seeds(6); seed++) {
		struct even_job job = tensor_parallel(seed);
		job.differences = 0.02;
		if (SANITIZED)
			job.seconds = 40;
		play(&job);
		job.noise = 0.1;
		play(&job);
		job.lasts = 0.95;
		play(&job);
		job.tensor_parallel = 4;
		play(&job);
		job.jitter = 0.3;
		play(&job);
	}
}

enum { KNOWN = 8, PART = SUMS_EVEN_PART, WINDOWS = EVENLY_PARTS * PART, FIRST = 2 };

/* By how many hundredths of a per cent of each window two ranks work longer than the rest: the one that is looked at, and another one. */
struct evenly_case {
	const char *what;
	int parts[EVENLY_PARTS], by_turns; /* the first one's in each part, and so much more and less in one window after the other */
	int grows;                         /* in all windows together */
	int other[EVENLY_PARTS];
	bool pipelined, late;
};

static int longer_in(const struct evenly_case *given, uint32_t rank, int window)
{
	int at = window < FIRST + 1 ? 0 : window < FIRST + WINDOWS ? window - FIRST - 1 : WINDOWS - 1;

	if (rank == 1)
		return given->other[at / PART];
	return rank ? 0 : given->parts[at / PART] + (window % 2 ? -given->by_turns : given->by_turns) + given->grows * at / WINDOWS - given->grows / 2;
}

/* Windows of two seconds up to the first one in which a rank may be late evenly: half of each is work. */
static void add_windows(struct sums *sums, const struct evenly_case *given)
{
	const uint64_t unit_ns = SUMS_WINDOW_NS / 10000;

	for (int window = 1; window <= FIRST + WINDOWS + 2; window++)
		for (uint32_t rank = 0; rank < KNOWN; rank++) {
			uint64_t from_ns = (uint64_t)window * SUMS_WINDOW_NS, until_ns = from_ns + SUMS_WINDOW_NS;
			uint64_t waits_ns = from_ns + (uint64_t)(5000 + longer_in(given, rank, window)) * unit_ns;
			sums_note(sums, rank, ANALYSIS_OWN, from_ns, waits_ns);
			sums_note(sums, rank, ANALYSIS_WAIT, waits_ns, until_ns);
		}
}

static bool is_late_evenly(const struct evenly_case *given)
{
	struct process process = { 0 };
	struct rank ranks[KNOWN];
	struct member members[KNOWN] = { 0 };
	struct communicator communicator = { .size = KNOWN, .members = members, .member_count = KNOWN };
	struct communicator *communicators[] = { &communicator };
	struct job job = { .ranks = ranks, .rank_count = KNOWN, .communicators = communicators, .communicator_count = 1, .pipelined = given->pipelined };
	struct sums sums = { .job = &job };

	for (uint32_t i = 0; i < KNOWN; i++) {
		ranks[i] = (struct rank){ .process = &process };
		members[i].rank = i;
	}
	add_windows(&sums, given);
	cr_assert_eq(sums.watched.first_step, FIRST);
	cr_assert_eq(sums.next, FIRST + WINDOWS + 1);
	bool late = sums.watched.suspects[0].decided_ns;
	cr_expect_eq(late, sums.ranks[0].even && late, "%s", given->what);
	for (uint32_t i = 1; i < KNOWN; i++)
		cr_expect_eq(sums.watched.suspects[i].decided_ns, 0, "%s: rank %u", given->what, i);
	sums_free(&sums);
	return late;
}

Test(sums, who_is_late_evenly_is_late_in_each_part_or_on_average_by_far_more_than_others)
{
	static const struct evenly_case cases[] = {
		{ "three times as late in each part", { 200, 200, 200, 200 }, 0, 0, { 66, 66, 66, 66 }, false, true },
		{ "less", { 200, 200, 200, 200 }, 0, 0, { 67, 67, 67, 67 }, false, false },
		{ "three times as late in parts that are not alike", { 130, 300, 300, 300 }, 0, 0, { 43, 43, 43, 43 }, false, true },
		{ "another one is late and early", { 200, 200, 200, 200 }, 50, 0, { 110, -110, 110, -110 }, false, true },
		{ "by too much in each part", { 200, 200, 200, 200 }, 50, 0, { 120, -120, 120, -120 }, false, false },
		{ "by too much on average", { 200, 200, 200, 200 }, 50, 0, { 110, -110, 110, 110 }, false, false },
		{ "it is early by too much", { 200, 200, 200, 200 }, 50, 0, { -110, 110, -110, -110 }, false, false },
		{ "stages", { 200, 200, 200, 200 }, 50, 0, { 110, -110, 110, -110 }, true, false },
		{ "not alike, by twice", { 130, 130, 130, 255 }, 80, 0, { 70, -70, 70, -70 }, false, true },
		{ "not alike, by more", { 130, 130, 130, 270 }, 80, 0, { 70, -70, 70, -70 }, false, false },
		{ "it wanders", { 200, 200, 200, 200 }, 10, 130, { 75, -75, 75, -75 }, false, false },
		{ "it varies as much and does not wander", { 200, 200, 200, 200 }, 100, 130, { 75, -75, 75, -75 }, false, true },
		{ "it is late, and early in between by so much that it is too little", { 100, 100, 100, 100 }, 200, 0, { 55, -55, 55, -55 }, false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect_eq(is_late_evenly(&cases[i]), cases[i].late, "%s", cases[i].what);
}

/* Times of a damaged box. */
Test(sums, take_any_time)
{
	const struct job job = { 0 };
	struct sums sums = { .job = &job };
	static const uint64_t times[] = { 0, 1, 4000000000, INT64_MAX / 2, INT64_MAX, UINT64_MAX - 1, UINT64_MAX };
	const struct operation operation = { .done_ns = UINT64_MAX };

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		for (size_t k = i; k < sizeof(times) / sizeof(*times); k++) {
			sums_note(&sums, 3, ANALYSIS_OWN, times[i], times[k]);
			sums_note_launch(&sums, 3, times[i], times[i], times[k]);
			sums_note_operation(&sums, 3, &operation, &(struct sums_meeting){ .mean_ns = times[i] });
		}
	sums_free(&sums);
}

/* The host's: it launched late. The device's: it had been launched well before it came. What is near either is neither's. */
Test(sums, own_work_is_the_hosts_or_the_devices_by_when_it_was_launched)
{
	enum { NOISE = LATENESS_NOISE_NS, LONG = 25 * NOISE };
	static const struct {
		int64_t launch_ns, until_ns; /* after own work began */
		uint64_t host_ns, device_ns;
	} cases[] = {
		{ NOISE + 1, LONG, NOISE + 1, 0 },
		{ LONG / 2, LONG, LONG / 2, 0 },
		{ LONG + 1, LONG, LONG, 0 },
		{ NOISE, LONG, 0, LONG },
		{ 0, LONG, 0, LONG },
		{ -1, LONG, 0, LONG },
		{ -LONG, LONG, 0, LONG },
		{ NOISE, 3 * NOISE, 0, 0 },
		{ NOISE, 3 * NOISE + 1, 0, 3 * NOISE + 1 },
		{ NOISE, 2 * NOISE, 0, 0 },
	};
	const struct job job = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sums sums = { .job = &job };
		/* The first window is not whole. */
		sums_note(&sums, 0, ANALYSIS_OWN, 0, 1);
		uint64_t from_ns = 3 * sums.window_ns + LONG;
		sums_note(&sums, 0, ANALYSIS_OWN, sums.window_ns, from_ns);
		const struct sums_window *window = &sums.ranks[0].windows[3 % SUMS_KEPT];
		cr_assert_eq(window->number, 3);
		sums_note_launch(&sums, 0, from_ns, from_ns + (uint64_t)cases[i].launch_ns, from_ns + (uint64_t)cases[i].until_ns);
		cr_expect_eq(window->host_ns, cases[i].host_ns, "%zu: %lu", i, window->host_ns);
		cr_expect_eq(window->device_ns, cases[i].device_ns, "%zu: %lu", i, window->device_ns);
		sums_free(&sums);
	}
}
