/* SPDX-License-Identifier: MIT */
/* One step, one number: whichever stage of a pipeline brings something bad into it. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "analysis/known/job.h"
#include "analysis/steps/numbering.h"
#include "tests/unit/analysis/jobs/history.h"
#include "tests/unit/analysis/jobs/pipelined.h"
#include "tests/unit/analysis/jobs/seeds.h"

enum { STEPS = 14, BAD_STEP = 11 };

static const struct kind {
	const char *name;
	struct pipelined_job job;
	bool told;
} kinds[] = {
	{ "two stages", { .stages = 2, .width = 4, .sharded = true, .norm = true, .loss = true }, true },
	{ "four stages, lazy",
	  { .stages = 4, .width = 2, .sharded = true, .norm = true, .loss = true, .lazy = true },
	  true },
	{ "a barrier",
	  { .stages = 4, .width = 2, .sharded = true, .norm = true, .loss = true, .barrier = true, .lazy = true },
	  true },
	{ "no norm", { .stages = 4, .width = 2, .sharded = true, .loss = true, .barrier = true }, true },
	{ "no loss", { .stages = 3, .width = 2, .sharded = true, .norm = true }, true },
	{ "no numbers", { .stages = 3, .width = 2, .sharded = true }, false },
	{ "the pipeline alone", { .stages = 4, .width = 1, .norm = true }, false },
	{ "a stage that starts unlike",
	  { .stages = 2, .width = 4, .sharded = true, .loss = true, .without_number = 2 },
	  false },
	{ "the first starts unlike",
	  { .stages = 4, .width = 2, .sharded = true, .loss = true, .without_number = 1 },
	  false },
};

/* The step that is told of what this rank brings. */
static int64_t play(const struct pipelined_job *job, int rank)
{
	struct pipelined *pipelined = calloc(1, sizeof(*pipelined));
	int64_t told = -1;

	pipelined_start(pipelined, job);
	for (int step = 1; step <= STEPS; step++) {
		pipelined->job.brings[rank] = step == BAD_STEP;
		pipelined_step(pipelined);
	}
	scanned_end(&pipelined->job);
	for (size_t i = 0; i < pipelined->job.told_count; i++)
		if (pipelined->job.told[i].finding.operation.step >= 0)
			told = pipelined->job.told[i].finding.operation.step;
	scanned_free(&pipelined->job);
	free(pipelined);
	return told;
}

Test(numbering, of_steps_is_the_training_s_in_all_stages_or_none_is_told, .timeout = 100)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		for (int layers = 1; layers <= 5; layers += SANITIZED ? 4 : 2)
			for (int microbatches = 4; microbatches <= (SANITIZED ? 4 : 8); microbatches += 4) {
				struct pipelined_job job = kinds[i].job;
				job.layers = layers;
				job.microbatches = microbatches;
				for (int rank = 0; rank < job.stages * job.width; rank++) {
					int64_t told = play(&job, rank);
					cr_expect_eq(told, kinds[i].told ? BAD_STEP : -1,
						     "%s, %d layers, %d micro-batches, rank %d: step %ld",
						     kinds[i].name, layers, microbatches, rank, told);
				}
			}
}

Test(numbering, whoever_of_the_job_is_disputed_no_step_is_told)
{
	enum { PROCESSES = 4 };
	static struct process processes[PROCESSES];
	struct process *list[PROCESSES];
	struct job job = { .processes = list, .process_count = PROCESSES };

	for (int i = 0; i < PROCESSES; i++) {
		list[i] = &processes[i];
		processes[i].of_job = &job;
		processes[i].steps.trust = STEPS_CERTAIN;
	}
	cr_assert_eq(numbering_told(&processes[0], 7), 7);
	for (int i = 0; i < PROCESSES; i++) {
		processes[i].dispute.with = &processes[(i + 1) % PROCESSES];
		cr_expect_eq(numbering_told(&processes[0], 7), -1, "process %d is disputed", i);
		processes[i].dispute.version = 1;
		cr_expect_eq(numbering_told(&processes[0], 7), 7, "it numbers its steps anew since");
		processes[i].dispute = (struct dispute){ 0 };
	}
}

/* Numbers that the programs say themselves. */

enum { MARKED_STEPS = 30, MARKED_LATE = 1, MARKED_FROM = 12 };

static uint64_t from_a_thousand(int rank, int step)
{
	(void)rank;
	return 999 + (uint64_t)step;
}

static uint64_t of_one_rank(int rank, int step)
{
	return rank == 3 ? 999 + (uint64_t)step : HISTORY_UNMARKED;
}

static uint64_t of_all_but_the_first(int rank, int step)
{
	return rank ? 999 + (uint64_t)step : HISTORY_UNMARKED;
}

static uint64_t by_tens(int rank, int step)
{
	(void)rank;
	return 10 * (uint64_t)step;
}

static uint64_t back_to_the_checkpoint(int rank, int step)
{
	(void)rank;
	return (uint64_t)(step <= 6 ? 100 + step : 98 + step); /* 106 is followed by 105 */
}

static uint64_t never_advancing(int rank, int step)
{
	(void)rank;
	(void)step;
	return 7;
}

static uint64_t anything(int rank, int step)
{
	return ((uint64_t)step * 2654435761u + (uint64_t)rank * 977) % 100003;
}

static uint64_t another_each(int rank, int step)
{
	return 1000 * (uint64_t)rank + (uint64_t)step;
}

/* The job's finding about the late rank, and what its summary says of steps. */
static struct history_finding play_marked(uint64_t (*number)(int rank, int step), struct analysis_summary *summary)
{
	const struct history_job job = {
		.ranks = 4, .steps = MARKED_STEPS, .layers = 4, .compute_ms = 20, .seed = 5, .number = number,
		.faults = { { FAULT_HOST, MARKED_LATE, MARKED_FROM, 0, 300, EVIDENCE_SLEEP, 0, 0 } },
	};
	struct history *history = history_new(&job);
	struct analysis *analysis = analysis_new(false, history_emit, history);
	struct history_finding last = { .rank = -1, .since_step = -1, .step = -1 };
	size_t count;

	history_play(history, analysis, 0);
	analysis_summarise(analysis, summary);
	const struct history_finding *findings = history_findings(history, &count);
	for (size_t i = 0; i < count; i++)
		if (findings[i].kind == RW_KIND_STRAGGLER && findings[i].state != RW_FINDING_CLOSED)
			last = findings[i];
	analysis_free(analysis);
	history_free(history);
	return last;
}

static const struct marked {
	const char *name;
	uint64_t (*number)(int rank, int step);
	long since, newest; /* as they are to be told; -1 not at all */
} marked[] = {
	{ "nobody marks", NULL, MARKED_FROM, MARKED_STEPS },
	{ "all", from_a_thousand, 999 + MARKED_FROM, 999 + MARKED_STEPS },
	{ "by tens", by_tens, 10 * MARKED_FROM, 10 * MARKED_STEPS },
	{ "back to a checkpoint", back_to_the_checkpoint, 98 + MARKED_FROM, 98 + MARKED_STEPS },
	{ "never advancing", never_advancing, MARKED_FROM, MARKED_STEPS },
	{ "each its own", another_each, -1, -1 },
};

Test(numbering, of_steps_is_the_program_s_where_it_says_one)
{
	for (size_t i = 0; i < sizeof(marked) / sizeof(*marked); i++) {
		struct analysis_summary summary;
		struct history_finding found = play_marked(marked[i].number, &summary);

		cr_expect_eq(found.rank, MARKED_LATE, "%s: rank %d", marked[i].name, found.rank);
		cr_expect_eq(found.since_step, marked[i].since, "%s: since %ld", marked[i].name, found.since_step);
		cr_expect_eq(summary.step, marked[i].newest, "%s: step %ld", marked[i].name, summary.step);
		cr_expect_leq(summary.steps, MARKED_STEPS, "%s: %lu steps", marked[i].name, summary.steps);
	}
}

/* The others' own count begins elsewhere: it is not mixed in. */
Test(numbering, of_ranks_that_do_not_say_is_not_told_where_others_do)
{
	uint64_t (*const numbers[])(int rank, int step) = { of_one_rank, of_all_but_the_first };

	for (int i = 0; i < 2; i++) {
		struct analysis_summary summary;
		struct history_finding found = play_marked(numbers[i], &summary);

		cr_expect_eq(found.rank, MARKED_LATE);
		cr_expect(found.since_step == 999 + MARKED_FROM || found.since_step == -1, "%d: since %ld", i, found.since_step);
		cr_expect(found.step == -1 || found.step > 1000, "%d: step %ld", i, found.step);
		cr_expect_eq(summary.step, 999 + MARKED_STEPS, "%d: %ld", i, summary.step);
	}
}

/* The finder's numbers may be lost by it, but no wrong one is told, and the rank is named all the same. */
Test(numbering, that_is_garbage_names_no_step)
{
	struct analysis_summary summary;
	struct history_finding found = play_marked(anything, &summary);

	cr_expect_eq(found.rank, MARKED_LATE);
	cr_expect(found.since_step == -1 || found.since_step == MARKED_FROM, "since %ld", found.since_step);
	cr_expect(summary.step == -1 || summary.step == MARKED_STEPS, "step %ld", summary.step);
}
