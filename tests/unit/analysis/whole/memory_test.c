/* SPDX-License-Identifier: MIT */
/* What the analysis takes it gives back, and one of its allocations that fails costs it a record and nothing else. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "analysis/view/view.h"
#include "tests/unit/analysis/jobs/counted_memory.h"
#include "tests/unit/analysis/jobs/even_jobs.h"
#include "tests/unit/analysis/jobs/loose_jobs.h"
#include "tests/unit/analysis/jobs/noisy_jobs.h"
#include "tests/unit/analysis/jobs/pipelined.h"
#include "tests/unit/analysis/jobs/played.h"
#include "tests/unit/analysis/jobs/seeds.h"
#include "tests/unit/analysis/jobs/surroundings.h"

/* The calls of the analysis are led here as well. */
static struct {
	unsigned long ticks; /* of this job */
	unsigned long asked; /* how often the analysis asked for memory, … */
	unsigned long fails; /* … and which time it gets none; 0: never */
} memory;

static bool is_refused(const void *site)
{
	(void)site;
	return ++memory.asked == memory.fails;
}

/* A record that is lost for want of memory is none of the job's business. */
#define CALLED(NAME, PARAMETERS, ...)                  \
	int __real_##NAME PARAMETERS;                  \
	int __wrap_##NAME PARAMETERS;                  \
	int __wrap_##NAME PARAMETERS                   \
	{                                              \
		counted_memory.inside++;               \
		int err = __real_##NAME(__VA_ARGS__);  \
		counted_memory.inside--;               \
		return memory.fails ? 0 : err;         \
	}

CALLED(analysis_add_process, (struct analysis * analysis, const struct analysis_process *process), analysis, process)
CALLED(analysis_add_communicator,
       (struct analysis * analysis, analysis_process_id process, uint32_t index,
	const struct rw_communicator *communicator),
       analysis, process, index, communicator)
CALLED(analysis_add_operation,
       (struct analysis * analysis, analysis_process_id process, const struct rw_operation *slot), analysis, process,
       slot)
CALLED(analysis_add_wait, (struct analysis * analysis, const struct analysis_wait *wait), analysis, wait)
CALLED(analysis_add_network, (struct analysis * analysis, const struct analysis_network *network), analysis, network)
CALLED(analysis_add_python, (struct analysis * analysis, const struct analysis_python *seen), analysis, seen)
CALLED(analysis_add_other, (struct analysis * analysis, const struct analysis_other *seen), analysis, seen)
CALLED(analysis_add_children, (struct analysis * analysis, const struct analysis_children *seen), analysis, seen)
CALLED(analysis_add_gpu_state, (struct analysis * analysis, const struct analysis_gpu_state *state), analysis, state)
CALLED(analysis_add_gpu_event, (struct analysis * analysis, const struct analysis_gpu_event *event), analysis, event)
CALLED(analysis_add_port_state, (struct analysis * analysis, const struct analysis_port_state *state), analysis, state)
CALLED(analysis_add_memory_state, (struct analysis * analysis, const struct analysis_memory_state *state), analysis,
       state)

/* NULL: nothing else than the job is seen. */
static const struct surroundings *around;

void __real_analysis_tick(struct analysis *analysis, uint64_t now_ns);
void __wrap_analysis_tick(struct analysis *analysis, uint64_t now_ns);
void __wrap_analysis_tick(struct analysis *analysis, uint64_t now_ns)
{
	if (around)
		surroundings_show(around, analysis, now_ns);
	counted_memory.inside++;
	if (!memory.ticks++)
		analysis_keep_cells(analysis);
	__real_analysis_tick(analysis, now_ns);
	counted_memory.inside--;
}

static void see_rank(void *argument, const struct analysis_rank_view *rank)
{
	(void)argument, (void)rank;
}

static void see_communicator(void *argument, const struct analysis_communicator_view *communicator)
{
	(void)argument, (void)communicator;
}

static void see_flight(void *argument, const struct analysis_flight *flight)
{
	(void)argument, (void)flight;
}

static void ask_everything(const struct analysis *analysis)
{
	struct analysis_account account;
	struct analysis_pipeline pipeline;
	struct analysis_summary summary;

	counted_memory.inside++;
	analysis_tell_account(analysis, &account);
	analysis_tell_pipeline(analysis, &pipeline);
	analysis_summarise(analysis, &summary);
	analysis_visit_ranks(analysis, see_rank, NULL);
	analysis_visit_communicators(analysis, see_communicator, NULL);
	analysis_visit_flights(analysis, see_flight, NULL);
	counted_memory.inside--;
}

static const struct history_job four = {
	.ranks = 4, .steps = 14, .layers = 2, .compute_ms = 20, .jitter_ms = 2, .tail_ms = 3000
};
static const struct history_fault faults[] = {
	{ FAULT_HOST, 1, .first_step = 5, .ms = 150, .evidence = EVIDENCE_FSYNC_WRITER },
	{ FAULT_DEVICE, 2, .first_step = 5, .ms = 100 },
	{ FAULT_NEVER, 3, .first_step = 8, .evidence = EVIDENCE_SLEEP },
	{ FAULT_KILLED, 0, .first_step = 8 },
	{ FAULT_STOPPED, 1, .first_step = 8 },
	{ FAULT_GPU_STUCK, 2, .first_step = 8, .evidence = EVIDENCE_POLL },
	{ FAULT_TRANSFER, 0, .first_step = 6, .ms = 80 },
	{ FAULT_HOST, 2, .first_step = 4, .ms = 300, .every = 4, .evidence = EVIDENCE_LOCK },
};
static const unsigned int fault_count = sizeof(faults) / sizeof(*faults);

static void play_history(unsigned int number)
{
	struct history_job job = four;

	job.faults[0] = faults[number % fault_count];
	job.tensor_parallel = number % 2 ? 2 : 0;
	struct played run = play(&job);
	ask_everything(run.analysis);
	end(&run);
}

static void play_around(unsigned int number)
{
	struct history_job job = four;
	const struct surroundings sick = {
		.number = 2 + number, .ranks = four.ranks, .sick = 2, .from_ms = 1200, .to_ms = 3000
	};

	job.faults[0] = (struct history_fault){ number % 2 ? FAULT_TRANSFER : FAULT_DEVICE, 2, .first_step = 4, .ms = 120 };
	around = &sick;
	struct played run = play(&job);
	ask_everything(run.analysis);
	end(&run);
	around = NULL;
}

static void play_loose(unsigned int number)
{
	static const unsigned int small[] = { 5, 15, 31, 39, 47, 3 };

	loose_play(small[number]);
}

static void play_values(unsigned int number)
{
	const struct pipelined_job is = { .stages = 3,
					  .width = 2,
					  .microbatches = 4,
					  .layers = 2,
					  .sharded = true,
					  .norm = true,
					  .loss = true,
					  .barrier = number % 2,
					  .lazy = number % 3 == 2 };
	static struct pipelined pipelined;

	pipelined_start(&pipelined, &is);
	for (int step = 1; step <= 6; step++) {
		pipelined.job.bad[number % 6] = step > 3;
		pipelined_step(&pipelined);
	}
	scanned_tick(&pipelined.job, 1000);
	ask_everything(pipelined.job.analysis);
	scanned_end(&pipelined.job);
	scanned_free(&pipelined.job);
}

static void play_noisy(unsigned int number)
{
	struct noisy_job job = noisy_faulty_job((int)number, 3, number * 8);
	struct noisy_result result;

	job.steps = 80;
	noisy_play(&job, &result);
}

static void play_even(unsigned int number)
{
	struct even_job job = even_faulty_job((int)number, number);
	struct even_result result;

	job.ranks = 4;
	job.seconds = 50;
	job.slow_rank = 1;
	job.tensor_parallel = job.tensor_parallel ? 2 : 0;
	even_play(&job, &result);
}

static void ignore(void *argument, const struct rw_finding *finding)
{
	(void)argument, (void)finding;
}

/* Two of four ranks wait in the init of another communicator than the other two: a circle. */
static void play_inits(unsigned int number)
{
	static const int32_t ids[] = { 7, 8, 7, 8 };
	struct analysis *analysis = analysis_new(false, ignore, NULL);

	cr_assert_not_null(analysis);
	for (int32_t rank = 0; rank < 4; rank++) {
		struct rw_box_header box = { .world_rank = rank, .world_size = 4, .host = "a", .job = "test" };
		struct analysis_process process = { .id = (analysis_process_id)rank + 1, .pid = 100 + rank, .box = &box };
		struct rw_init init = { .since_ns = 1000000000, .id = (uint64_t)ids[rank], .nranks = 4, .rank = rank };

		analysis_add_process(analysis, &process);
		analysis_set_init(analysis, process.id, &init);
	}
	for (uint64_t at = 1; at <= 20 + number; at++)
		analysis_tick(analysis, at * 1000000000);
	analysis_free(analysis);
}

static void expect_given_back(void play_one(unsigned int number), unsigned int number)
{
	long before = counted_memory.blocks;

	counted_memory.refuses = is_refused;
	memory.asked = memory.ticks = 0;
	play_one(number);
	cr_expect_eq(counted_memory.blocks, before, "%ld blocks are left of job %u when request %lu fails",
		     counted_memory.blocks - before, number, memory.fails);
}

Test(memory, is_given_back)
{
	for (unsigned int number = 0; number < 2 * fault_count; number++)
		expect_given_back(play_history, number);
	for (unsigned int number = 0; number < 6; number++)
		expect_given_back(play_values, number);
	for (unsigned int number = 0; number < 6; number++)
		expect_given_back(play_loose, number);
	for (unsigned int number = 0; number < 8; number++)
		expect_given_back(play_around, number);
	for (unsigned int number = 0; number < 6; number++)
		expect_given_back(play_noisy, number);
	for (unsigned int number = 2; number < 10; number += 7)
		expect_given_back(play_even, number);
}

/* Most requests are among the first: those of what is made once. */
static void refuse_each(void play_one(unsigned int number), unsigned int jobs)
{
	unsigned int tries = seeds(200);

	for (unsigned int number = 0; number < jobs; number++) {
		memory.fails = 0;
		expect_given_back(play_one, number);
		unsigned long all = memory.asked;

		cr_assert_gt(all, 20);
		for (unsigned int i = 1; i <= tries; i++) {
			double part = (double)i / tries;

			memory.fails = 1 + number % 3 + (unsigned long)(part * part * (double)(all - 1));
			expect_given_back(play_one, number);
		}
	}
}

Test(memory, that_is_refused_costs_no_crash_and_no_leak)
{
	refuse_each(play_history, fault_count);
}

Test(memory, that_is_refused_where_communicators_come_and_go)
{
	refuse_each(play_loose, 6);
}

Test(memory, that_is_refused_where_more_is_seen_than_the_job)
{
	refuse_each(play_around, 3);
}

Test(memory, that_is_refused_where_ranks_wait_in_inits)
{
	refuse_each(play_inits, 1);
}

Test(memory, that_is_refused_where_values_are_followed)
{
	refuse_each(play_values, 2);
}
