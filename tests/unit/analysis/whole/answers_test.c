/* SPDX-License-Identifier: MIT */
/*
 * Everything that the analysis says of some five hundred and seventy small jobs, held against what it said when
 * somebody last looked: each finding as it was told, and a number that is made of all keys of the findings and all that
 * the views, the account and the summary show. Many jobs have no noise at all, so that times are equal to each other
 * and to limits. Other tests say what must be so; this one that nothing changes unnoticed. A change that is meant:
 * `ninja -C build analysis-answers`, and read what git says has changed. What was said in full lies in ANSWERS_SEEN
 * then, to be compared with that of the tree before.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/analysis/jobs/drawn_calls.h"
#include "tests/unit/analysis/whole/kept_answers.h"
#include "tests/unit/analysis/jobs/listening.h"
#include "tests/unit/analysis/jobs/loose_jobs.h"
#include "tests/unit/analysis/jobs/noisy_jobs.h"
#include "tests/unit/analysis/jobs/pipelined.h"
#include "tests/unit/analysis/jobs/played.h"
#include "tests/sanitized.h"

/* Everything is the same, to the nanosecond, but for what the fault does. */
static const struct history_job even = { .ranks = 4, .steps = 24, .layers = 2, .compute_ms = 20, .tail_ms = 3000 };

static bool play_quiet(unsigned int number)
{
	static const struct history_fault faults[] = {
		{ FAULT_NONE },
		{ FAULT_HOST, 1, .first_step = 8, .ms = 20, .evidence = EVIDENCE_SLEEP },
		{ FAULT_HOST, 2, .first_step = 8, .ms = 100, .evidence = EVIDENCE_FSYNC_WRITER },
		{ FAULT_HOST, 3, .first_step = 5, .ms = 300, .every = 4, .evidence = EVIDENCE_LOCK },
		{ FAULT_HOST, 0, .first_step = 8, .last_step = 14, .ms = 200, .evidence = EVIDENCE_RUN_QUEUE },
		{ FAULT_HOST_EACH, 1, .first_step = 6, .ms = 30, .evidence = EVIDENCE_BUSY },
		{ FAULT_DEVICE, 2, .first_step = 6, .ms = 100 },
		{ FAULT_DEVICE, 3, .first_step = 1, .ms = 10 },
		{ FAULT_ALL, 0, .first_step = 10, .last_step = 11, .ms = 700 },
		{ FAULT_GPU_STUCK, 1, .first_step = 12, .evidence = EVIDENCE_POLL },
		{ FAULT_ENDLESS, 2, .first_step = 12, .evidence = EVIDENCE_BUSY },
		{ FAULT_NEVER, 3, .first_step = 10, .evidence = EVIDENCE_FSYNC_GUESSED },
		{ FAULT_DIES, 0, .first_step = 10, .ms = 5 },
		{ FAULT_KILLED, 1, .first_step = 10 },
		{ FAULT_EXITED, 2, .first_step = 10 },
		{ FAULT_STOPPED, 3, .first_step = 10 },
		{ FAULT_TRANSFER, 0, .first_step = 10, .ms = 80 },
	};
	const unsigned int count = sizeof(faults) / sizeof(*faults);
	struct history_job job = even;

	job.faults[0] = faults[number];
	struct played run = play(&job);
	end(&run);
	return number + 1 < count;
}

Test(answers, about_jobs_without_any_noise)
{
	kept_compare("quiet", play_quiet);
}

static bool play_mixed(unsigned int number)
{
	const enum history_evidence last = EVIDENCE_POLL;
	struct history_job job = { .ranks = 2 + (int)(number % 4) * 2,
				   .steps = 20 + (int)number,
				   .layers = 1 + (int)(number % 5),
				   .compute_ms = 3 + (number * 7) % 40,
				   .jitter_ms = number % 3 ? number % 10 : 0,
				   .stall_chance = number % 4 == 1 ? 0.1 : 0,
				   .stall_ms = 300,
				   .noise_ms = number % 5 == 4 ? 4 : 0,
				   .noise_lasts = 0.5,
				   .uneven_ms = number % 9 == 8 ? 30 : 0,
				   .tensor_parallel = number % 4 && number % 2 ? 2 : 0,
				   .pipeline = number % 7 == 6,
				   .runs_ahead = number % 5 == 0,
				   .no_gpu_times = number % 11 == 10,
				   .sampled = number % 6 == 5 ? 4 : 0,
				   .no_sizes = number % 8 == 7,
				   .no_world = number % 16 == 15,
				   .seen = number % 13 == 12 ? 1 + (int)(number % 4) * 2 : 0,
				   .hosts = number % 10 == 3 ? 2 : 0,
				   .seed = number,
				   .tail_ms = number % 2 ? 2000 : 200 };

	job.faults[0] = (struct history_fault){ .kind = FAULT_HOST + number % (FAULT_TRANSFER - FAULT_HOST + 1),
						.rank = (int)number % job.ranks,
						.first_step = 8,
						.ms = 15 * (1 + number % 20),
						.evidence = number % (last + 1),
						.every = (int)(number % 4) };
	if (number % 3 == 0)
		job.faults[1] = (struct history_fault){ .kind = FAULT_HOST,
							.rank = (int)(number + 1) % job.ranks,
							.first_step = 3,
							.ms = 120,
							.evidence = EVIDENCE_FSYNC,
							.every = 3 };
	struct played run = play(&job);
	end(&run);
	return number < 32;
}

Test(answers, about_jobs_of_all_kinds)
{
	kept_compare("mixed", play_mixed);
}

/* Two or three faults at once: of two ranks, of one rank twice, of all ranks of a host; steadily, in one step of some,
 * for a while. */
static bool play_pairs(unsigned int number)
{
	static const enum history_fault_kind kinds[] = { FAULT_HOST, FAULT_DEVICE, FAULT_HOST_EACH, FAULT_TRANSFER,
							 FAULT_ALL,  FAULT_HOST,   FAULT_DEVICE };
	struct history_job job = { .ranks = number % 3 == 2 ? 4 : 8,
				   .steps = 60 + (int)(number * 13 % 70),
				   .layers = 1 + (int)(number % 2),
				   .compute_ms = 20 + 5 * (number % 5),
				   .jitter_ms = number % 4 ? 2 : 0,
				   .noise_ms = number % 5 == 1 ? 2 : 0,
				   .noise_lasts = 0.5,
				   .tensor_parallel = number % 6 == 4 ? 2 : 0,
				   .runs_ahead = number % 5 == 0,
				   .kernel_times = number % 8 == 7,
				   .queue_ms = number % 16 == 15 ? 3 : 0,
				   .skew_ms = number % 7 == 3 ? 1 : 0,
				   .sampled = number % 9 == 8 ? 3 : 0,
				   .hosts = number % 4 == 3 ? 4 : number % 4 == 1 ? 2 : 0,
				   .seed = number,
				   .tail_ms = 1500 };
	int of_host = job.hosts ? job.ranks / job.hosts : 1;

	for (int i = 0; i < 3; i++) {
		bool is_host = i < 2 && number % 4 == 3; /* all its ranks: of two */
		job.faults[i] = (struct history_fault){ .kind = is_host ? FAULT_HOST : kinds[(number + 3 * (unsigned)i) % 7],
							.rank = is_host ? of_host + i % of_host : (int)(number * 3 + 2 * (unsigned)i) % job.ranks,
							.first_step = is_host ? 10 : 8 + 7 * i,
							.last_step = !is_host && number % 7 == 5 ? 45 + 5 * i : 0,
							.ms = is_host ? 90 : 40 * (1 + (number + (unsigned)i) % 5),
							.evidence = (number + (unsigned)i) % (EVIDENCE_SLEEP_SEEN + 1),
							.every = is_host ? 0 : (int)((number / 2 + 2 * (unsigned)i) % 6),
							.more_ms = number % 11 == 6 ? 1 : 0 };
	}
	if (number % 5 < 3)
		job.faults[2].kind = FAULT_NONE;
	struct played run = play(&job);
	end(&run);
	return number + 1 < 112;
}

Test(answers, about_jobs_with_several_faults)
{
	kept_compare("pairs", play_pairs);
}

static bool play_calls(unsigned int number)
{
	drawn_calls_play(number, kept.all, kept.answers);
	return number + 1 < 200;
}

Test(answers, about_steps_of_drawn_programs)
{
	kept_compare("calls", play_calls);
}

static bool play_noisy(unsigned int number)
{
	struct noisy_result result;
	struct noisy_job job = noisy_faulty_job((int)number, 2 + (int)(number % 3), number * 8);

	job.steps = 120;
	noisy_play(&job, &result);
	return (int)number + 1 < noisy_faulty_count;
}

Test(answers, about_noisy_jobs)
{
	kept_compare("noisy", play_noisy);
}

static bool play_values(unsigned int number)
{
	struct pipelined_job is = { .stages = 2 + (int)(number % 3),
				    .width = 2 + (int)(number % 2) * 2,
				    .microbatches = 4,
				    .layers = 2,
				    .sharded = number % 2,
				    .norm = number % 3 != 2,
				    .loss = number % 4 != 3,
				    .barrier = number % 5 == 4,
				    .lazy = number % 6 == 5,
				    .without_number = (int)(number % 7 == 6) };
	struct pipelined pipelined;
	int bad;

	pipelined_start(&pipelined, &is);
	bad = (int)(number * 5) % pipelined.job.ranks;
	for (int step = 1; step <= 8; step++) {
		if (step == 3 && number % 4 == 1)
			pipelined.job.absmax[bad] = 60000;
		if (step == 4 && number % 4 != 3)
			pipelined.job.bad[bad] = true;
		if (step == 5 && number % 4 == 2)
			memset(pipelined.job.bad, 0, sizeof(pipelined.job.bad));
		if (number % 4 == 3)
			pipelined.job.absmax[bad] = (float)(1 << (2 * step));
		pipelined_step(&pipelined);
	}
	scanned_tick(&pipelined.job, 3000);
	scanned_end(&pipelined.job);
	scanned_free(&pipelined.job);
	return number < 15;
}

Test(answers, about_values_in_pipelines)
{
	kept_compare("values", play_values);
}

/* Nothing of it is a training job: who has what is bad goes by who calls what with whom alone. */
static struct scanned_call drawn_call(struct scanned *job, int size)
{
	static const uint8_t functions[] = { RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_ALL_GATHER, RW_FUNCTION_REDUCE_SCATTER,
					     RW_FUNCTION_BROADCAST,  RW_FUNCTION_SEND,       RW_FUNCTION_ALL_TO_ALL,
					     RW_FUNCTION_REDUCE };
	static const uint8_t dtypes[] = { 0, 0, RW_DTYPE_FLOAT32, RW_DTYPE_FLOAT16, RW_DTYPE_FLOAT8_E5M2, RW_DTYPE_INT32 };
	struct scanned_call call = { .function = functions[scanned_chance(job, sizeof(functions))] };

	call.dtype = dtypes[scanned_chance(job, sizeof(dtypes))];
	call.reduction = (uint8_t)scanned_chance(job, RW_OPERATOR_COUNT - 1);
	call.count = 1u << scanned_chance(job, 14);
	call.root = (int)scanned_chance(job, (uint64_t)size);
	call.sender = (call.root + 1) % size;
	call.in_place = !scanned_chance(job, 5);
	call.sampled_out = !scanned_chance(job, 9);
	call.untracked = !scanned_chance(job, 17);
	call.keeps = !scanned_chance(job, 11);
	call.overflows = !scanned_chance(job, 150);
	call.inf = job->ranks % 2;
	return call;
}

static void spoil(struct scanned *job, unsigned int number, int step, int victim)
{
	static const uint32_t nans[] = { 1, 2, 70000 };

	job->nan = nans[number % 3];
	if (step == 5 && number % 4 == 0)
		job->bad[victim] = true;
	if (step == 6 && number % 4 == 1)
		job->brings[victim] = true;
	if (number % 4 == 2)
		job->absmax[victim] = (float)(1 << step);
	if (step >= 5 && number % 4 == 3)
		job->saturated[victim] = 1 + (uint32_t)step;
	if (step == 9 && number % 8 >= 4)
		memset(job->bad, 0, sizeof(job->bad));
	/* … and once more, somewhere else. */
	if (step == 16 && number % 8 >= 4)
		job->brings[(victim + 1) % job->ranks] = true;
}

static bool play_scattered(unsigned int number)
{
	static struct scanned job;
	int ranks = 3 + (int)(number % 4), calls = 3 + (int)(number % 9), victim = (int)(number / 3) % ranks, sizes[4];
	struct scanned_call pattern[12];
	int communicators[12];

	scanned_start(&job, ranks, number % 6 == 5 ? ranks - 1 : ranks);
	job.random = number;
	job.blind[(victim + 1) % ranks] = number % 5 == 3;
	for (int i = 0; i < 4; i++) {
		sizes[i] = i ? 2 + (int)scanned_chance(&job, (uint64_t)ranks - 2) : ranks;
		scanned_communicator(&job, i % 2 ? "some" : "", sizes[i],
				     i ? (int)scanned_chance(&job, (uint64_t)(ranks - sizes[i]) + 1) : 0, 1);
	}
	for (int i = 0; i < calls; i++) {
		communicators[i] = (int)scanned_chance(&job, 4);
		pattern[i] = drawn_call(&job, sizes[communicators[i]]);
	}
	for (int step = 0; step < 20; step++) {
		spoil(&job, number, step, victim);
		for (int i = 0; i < calls; i++)
			scanned_call(&job, communicators[i], pattern[i]);
		scanned_call(&job, 0, (struct scanned_call){ .function = RW_FUNCTION_REDUCE_SCATTER });
		scanned_call(&job, 0, (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .count = 1 });
		if (number % 2)
			scanned_tick(&job, 200);
	}
	scanned_tick(&job, 5000);
	scanned_end(&job);
	scanned_free(&job);
	return number < 71;
}

Test(answers, about_values_that_go_anywhere)
{
	kept_compare("scattered", play_scattered);
}

static bool play_around(unsigned int number)
{
	static const enum history_fault_kind faults[] = {
		FAULT_DEVICE,    FAULT_TRANSFER, FAULT_HOST, FAULT_NEVER,
		FAULT_GPU_STUCK, FAULT_KILLED,   FAULT_NONE, FAULT_HOST_EACH
	};
	struct history_job job = { .ranks = 4,
				   .steps = 110,
				   .layers = 2,
				   .compute_ms = 100,
				   .jitter_ms = number % 3,
				   .runs_ahead = number % 2,
				   .hosts = 1 + (int)(number % 2),
				   .seed = number,
				   .tail_ms = 4000 };
	struct surroundings around = {
		.number = number, .ranks = job.ranks, .sick = (int)number % job.ranks, .from_ms = 20000, .to_ms = 36000
	};

	job.faults[0] = (struct history_fault){ .kind = faults[number % 8],
						.rank = around.sick,
						.first_step = 50,
						.last_step = 90,
						.ms = 150 + 25 * (number % 5),
						.evidence = EVIDENCE_FSYNC_GUESSED };
	if (job.faults[0].kind == FAULT_NEVER || job.faults[0].kind == FAULT_GPU_STUCK || job.faults[0].kind == FAULT_KILLED)
		job.faults[0].last_step = 0;
	listening_around = &around;
	struct played run = play(&job);

	end(&run);
	listening_around = NULL;
	return number < 31;
}

Test(answers, about_jobs_and_what_else_is_seen_of_their_machines)
{
	kept_compare("around", play_around);
}

static bool play_loose(unsigned int number)
{
	const struct surroundings around = { .number = number,
					     .ranks = 2 + (int)(number % 3),
					     .sick = (int)(number % 2),
					     .from_ms = 2000,
					     .to_ms = 9000 };

	listening_around = number % 4 == 1 ? &around : NULL;
	fprintf(kept.answers, "  %lu operations\n", loose_play(number));
	listening_around = NULL;
	return number < 99;
}

Test(answers, about_jobs_drawn_record_by_record)
{
	kept_compare("loose", play_loose);
}

static bool play_at_limits(unsigned int number)
{
	const struct surroundings around = { .number = number,
					     .ranks = 2 + (int)(number % 4),
					     .sick = (int)(number % 3),
					     .from_ms = 1000 + 500 * (number % 7),
					     .to_ms = 6000 + 1000 * (number % 5) };

	listening_around = number % 3 ? NULL : &around;
	fprintf(kept.answers, "  %lu operations\n", loose_play(LOOSE_AT_LIMITS + number));
	listening_around = NULL;
	return number < 239;
}

/* The code is that of the other jobs. */
Test(answers, about_jobs_at_limits)
{
	if (SANITIZED)
		cr_skip_test("too many operations for a sanitizer");
	kept_compare("limits", play_at_limits);
}

static bool play_with_losses(unsigned int number)
{
	fprintf(kept.answers, "  %lu operations\n", loose_play(LOOSE_WITH_LOSSES + number));
	return number + 1 < 88;
}

Test(answers, about_jobs_of_which_calls_are_not_seen)
{
	kept_compare("losses", play_with_losses);
}
