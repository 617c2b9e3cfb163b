/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "analysis/model.h"
#include "analysis/late/straggler_cost.h"

enum { RANKS = 2, STEPS = 12, LATE_RANK = 0 };

struct stage {
	struct analysis analysis;
	struct member members[RANKS];
	struct communicator communicator;
	uint64_t now_ns, sequence;
};

static uint64_t ms(uint64_t value)
{
	return value * 1000000;
}

static struct stage *stage_open(void)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	struct stragglers *stragglers = &stage->analysis.stragglers;

	stage->analysis.job.rank_count = RANKS;
	for (uint32_t rank = 0; rank < RANKS; rank++)
		stage->members[rank] = (struct member){ .rank = rank, .comm_rank = (int32_t)rank };
	stage->communicator =
	    (struct communicator){ .size = RANKS, .members = stage->members, .member_count = RANKS };
	stage->now_ns = ms(1000);
	stragglers->suspects = calloc(RANKS, sizeof(*stragglers->suspects));
	stragglers->intermittents = calloc(RANKS, sizeof(*stragglers->intermittents));
	stragglers->suspect_count = RANKS;
	for (uint32_t rank = 0; rank < RANKS; rank++)
		stragglers->suspects[rank].intermittent = &stragglers->intermittents[rank];
	stragglers->suspects[LATE_RANK].decided_ns = 1;
	stragglers->first_step = 1;
	return stage;
}

static void stage_close(struct stage *stage)
{
	instances_free(&stage->analysis.instances);
	free(stage->analysis.stragglers.suspects);
	free(stage->analysis.stragglers.intermittents);
	free(stage);
}

/* The next operation comes `work_ms` after the last; the late rank's device makes the other wait for late_ms of it. */
static void operation(struct stage *stage, uint64_t step, uint64_t work_ms, uint64_t late_ms)
{
	struct instances *instances = &stage->analysis.instances;
	struct instance_key key = { .source = -1, .target = -1, .sequence = ++stage->sequence };
	struct instance *instance = instances_get(instances, &stage->communicator, &key, 0);
	struct suspect *suspect = &stage->analysis.stragglers.suspects[LATE_RANK];
	struct blame *blame = &suspect->blames[step % STRAGGLER_STEPS];

	stage->now_ns += ms(work_ms);
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		bool late = rank == LATE_RANK && late_ms;

		*instance_operation(instances, instance, rank) = (struct operation){
			.ticket = stage->sequence,
			.state = OPERATION_JOINED | OPERATION_STARTED | OPERATION_DONE,
			.arrival_ns = stage->now_ns - (rank == LATE_RANK ? 0 : ms(late_ms)),
			.done_ns = stage->now_ns,
			.late_us = late ? (uint32_t)late_ms * 1000 : 0,
			.by_us = late ? (uint32_t)late_ms * 1000 : 0,
		};
	}
	instance->start_ns = stage->now_ns;
	instance->judged = true;
	instance->place.step = step;
	instances_finish(instances, instance);
	if (!late_ms)
		return;
	if (blame->step != step)
		*blame = (struct blame){ .step = step };
	blame->late_ns += ms(late_ms);
	if (ms(late_ms) > blame->device_most_ns)
		blame->device_most_ns = ms(late_ms);
	suspect->step = step;
}

static void start_step(struct stage *stage, uint64_t step)
{
	operation(stage, step, 10, 0);
	pace_note(&stage->analysis.stragglers.pace, step, stage->now_ns);
}

static double lost_ms(struct stage *stage)
{
	uint32_t rank = LATE_RANK;

	return (double)straggler_cost(&stage->analysis, &rank, 1).lost_ns / 1e6;
}

/* One operation waits 250 ms for the late device, the two after it again for what the others had computed meanwhile. */
static void play_ahead(struct stage *stage, uint64_t late_from)
{
	for (uint64_t step = 1; step <= STEPS; step++) {
		bool late = step >= late_from;

		start_step(stage, step);
		operation(stage, step, 100 + (late ? 250 : 0), late ? 250 : 0);
		operation(stage, step, 100, late ? 100 : 0);
		operation(stage, step, 100, late ? 80 : 0);
	}
}

Test(straggler_cost, what_others_compute_while_they_wait_is_not_lost_a_second_time)
{
	struct stage *stage = stage_open();

	play_ahead(stage, 1);
	cr_expect_float_eq(lost_ms(stage), 250, 1, "%f", lost_ms(stage));
	uint32_t rank = LATE_RANK;
	cr_expect_geq(straggler_cost(&stage->analysis, &rank, 1).at_most_ns, ms(400));
	stage_close(stage);
}

Test(straggler_cost, is_no_more_than_steps_have_become_longer)
{
	struct stage *stage = stage_open();

	play_ahead(stage, 7);
	cr_expect_float_eq(lost_ms(stage), 250, 1, "%f", lost_ms(stage));
	stage_close(stage);
}

/* What slows the late rank may slow the others, too: then the rank alone costs what it is late by, and steps grow by
 * more. */
Test(straggler_cost, is_at_least_that_where_steps_have_become_far_longer)
{
	static const struct {
		uint64_t grows_ms;
		bool at_least;
	} cases[] = { { 250, true }, { 160, true }, { 140, false }, { 80, false } };
	uint32_t rank = LATE_RANK;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stage *stage = stage_open();
		for (uint64_t step = 1; step <= STEPS; step++) {
			start_step(stage, step);
			operation(stage, step, 100 + (step >= 7 ? cases[i].grows_ms : 0), step >= 7 ? 50 : 0);
		}
		struct straggler_cost cost = straggler_cost(&stage->analysis, &rank, 1);
		/* The replay adds the 25 ms by which the GPU's progress can be seen late. */
		cr_expect_float_eq((double)cost.lost_ns / 1e6, 50 + 25, 1, "%f", (double)cost.lost_ns / 1e6);
		cr_expect_eq(cost.at_least, cases[i].at_least, "%lu ms", cases[i].grows_ms);
		stage_close(stage);
	}
}

Test(straggler_cost, adds_up_what_a_device_that_has_changed_loses_piece_by_piece)
{
	struct stage *stage = stage_open();

	for (uint64_t step = 1; step <= STEPS; step++) {
		start_step(stage, step);
		for (int i = 0; i < 10; i++)
			operation(stage, step, step >= 7 ? 50 : 20, step >= 7 ? 30 : 0);
	}
	cr_expect_float_eq(lost_ms(stage), 300, 10, "%f", lost_ms(stage));
	stage_close(stage);
}

/* Two are suspected, so the replay says what one costs, and no late step has ended yet. */
Test(straggler_cost, is_a_share_of_the_step_before_and_the_loss_while_no_late_step_has_ended)
{
	struct stage *stage = stage_open();
	uint32_t rank = LATE_RANK;

	stage->analysis.stragglers.suspects[1].decided_ns = 1;
	for (uint64_t step = 1; step <= STEPS; step++) {
		bool late = step == STEPS;
		start_step(stage, step);
		operation(stage, step, 90 + (late ? 300 : 0), late ? 300 : 0);
	}
	struct straggler_cost cost = straggler_cost(&stage->analysis, &rank, 1);
	cr_expect_float_eq((double)cost.lost_ns / 1e6, 300, 1, "%f", (double)cost.lost_ns / 1e6);
	cr_expect_float_eq((double)cost.step_ns / 1e6, 100 + 300, 1, "%f", (double)cost.step_ns / 1e6);
	stage_close(stage);
}

Test(straggler_cost, steps_that_are_forgotten_do_not_change_since_when)
{
	struct stage *stage = stage_open();
	struct suspect *suspect = &stage->analysis.stragglers.suspects[LATE_RANK];

	play_ahead(stage, 7);
	lost_ms(stage);
	suspect->open = true;
	for (uint64_t step = STEPS + 1; step <= STEPS + STRAGGLER_STEPS; step++) {
		start_step(stage, step);
		operation(stage, step, 350, 250);
		operation(stage, step, 200, 100);
	}
	uint32_t rank = LATE_RANK;
	struct straggler_cost cost = straggler_cost(&stage->analysis, &rank, 1);
	cr_expect_eq(cost.since_step, 7, "%lu", cost.since_step);
	cr_expect_float_eq((double)cost.lost_ns / 1e6, 250, 1);
	stage_close(stage);
}

/* One step in which it may have been later than was seen, the first of the job as well as any other, makes the cost a
 * least. */
Test(straggler_cost, now_and_then_is_at_least_that_where_one_of_its_steps_was_seen_in_part)
{
	uint32_t rank = LATE_RANK;

	for (uint64_t partly = 0; partly <= STEPS; partly++) {
		struct stage *stage = stage_open();
		struct suspect *suspect = &stage->analysis.stragglers.suspects[LATE_RANK];
		for (uint64_t step = 1; step <= STEPS; step++) {
			start_step(stage, step);
			operation(stage, step, 90 + (step % 4 ? 0 : 200), step % 4 ? 0 : 200);
		}
		*suspect->intermittent =
		    (struct intermittent){ .decided = true, .times = 3, .since = 4, .last = 12, .late_ns = ms(600) };
		if (partly) {
			suspect->blames[partly % STRAGGLER_STEPS].step = partly;
			suspect->blames[partly % STRAGGLER_STEPS].partly = true;
		}
		struct straggler_cost cost = straggler_cost(&stage->analysis, &rank, 1);
		cr_expect_eq(cost.at_least, partly > 0, "step %lu", partly);
		cr_expect_eq(cost.lost_ns, ms(50), "%lu", cost.lost_ns);
		cr_expect_eq(cost.since_step, 4);
		stage_close(stage);
	}
}
