/* SPDX-License-Identifier: MIT */
/* One step, one number: whichever stage of a pipeline brings something bad into it. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "analysis/job.h"
#include "analysis/numbering.h"
#include "pipelined.h"
#include "seeds.h"

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
