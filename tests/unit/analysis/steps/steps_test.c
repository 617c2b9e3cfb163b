/* SPDX-License-Identifier: MIT */
/* Are the steps that are told the training's? Sequences of operations as one rank calls them, by kind of job. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/steps/period.h"
#include "analysis/steps/steps.h"
#include "tests/unit/analysis/jobs/seeds.h"

enum {
	MAIN = PERIOD_FIRST_THREAD,
	AUTOGRAD = 0,
	NUMBER = PERIOD_NUMBER | MAIN,
	PASSED = PERIOD_TRANSFER | MAIN,
	CALLS_MAX = 1 << 20,
	STEPS = 41
};

enum call { GATHER = 8, SCATTER, REDUCE, NORM, LOSS, SEND, RECEIVE, OBJECTS, BYTES, KEYS, BUCKET };

struct job {
	int layers, passes, stages; /* passes of one step (micro-batches, accumulation) */
	int stage;                  /* of a pipeline */
	bool tensor_parallel, pipeline, buckets, reduces_each_pass, sharded, manual; /* manual: everything by one thread */
	bool norm;
	int loss_every, evaluate_every, checkpoint_every;
	bool barrier_after_first, first_differs;
};

struct call_made {
	uint32_t signature;
	uint32_t step; /* 0: outside of the steps */
};

struct play {
	const struct job *job;
	struct call_made *calls;
	uint32_t count, step;
};

static void call(struct play *play, uint32_t what, uint32_t marks)
{
	cr_assert_lt(play->count, CALLS_MAX);
	if (play->job->manual)
		marks |= MAIN;
	play->calls[play->count++] = (struct call_made){ what * 2654435761u << 3 | marks, play->step };
}

static void forward(struct play *play)
{
	for (int layer = 0; layer < play->job->layers; layer++) {
		if (!play->job->buckets && !play->job->pipeline)
			call(play, GATHER, MAIN);
		for (int half = 0; half < 2 && play->job->tensor_parallel; half++) {
			call(play, KEYS, MAIN);
			call(play, KEYS + 16, MAIN);
		}
	}
}

static void backward(struct play *play, bool last)
{
	bool reduces = last || play->job->reduces_each_pass;

	for (int layer = 0; layer < play->job->layers; layer++) {
		if (play->job->buckets && reduces && (layer % 2 || layer + 1 == play->job->layers))
			call(play, BUCKET + (uint32_t)(layer + 1 == play->job->layers) * 16, AUTOGRAD);
		if (!play->job->buckets && !play->job->pipeline)
			call(play, GATHER, AUTOGRAD);
		for (int half = 0; half < 2 && play->job->tensor_parallel; half++) {
			call(play, KEYS, AUTOGRAD);
			call(play, KEYS + 16, AUTOGRAD);
		}
		if (!play->job->buckets && reduces)
			call(play, SCATTER, AUTOGRAD);
	}
}

static void pass_forward(struct play *play)
{
	if (play->job->stage)
		call(play, RECEIVE, PASSED);
	forward(play);
	if (play->job->stage + 1 < play->job->stages)
		call(play, SEND, PASSED);
}

/* All but the first stage pass on what their backward pass has made: by the thread that reduces the numbers. */
static void pass_backward(struct play *play, bool last)
{
	if (play->job->stage + 1 < play->job->stages)
		call(play, RECEIVE + 16, PASSED);
	backward(play, last);
	if (play->job->stage)
		call(play, SEND + 16, PASSED);
}

/* 1F1B: the earlier the stage, the more forward passes before its first backward one. */
static void pipelined_passes(struct play *play)
{
	int passes = play->job->passes, warm = play->job->stages - play->job->stage - 1;

	if (play->job->sharded)
		for (int layer = 0; layer < play->job->layers; layer++)
			call(play, GATHER, MAIN);
	for (int i = 0; i < passes + warm; i++) {
		if (i < passes)
			pass_forward(play);
		if (i >= warm)
			pass_backward(play, i + 1 == passes + warm);
	}
}

static void pass_all(struct play *play)
{
	if (play->job->pipeline) {
		pipelined_passes(play);
		return;
	}
	for (int i = 1; i <= play->job->passes; i++) {
		forward(play);
		backward(play, i == play->job->passes);
	}
}

static bool every(int period, uint32_t step)
{
	return period && step % (uint32_t)period == 0;
}

static void outside(struct play *play, uint32_t step)
{
	const struct job *job = play->job;

	play->step = 0;
	if (every(job->evaluate_every, step))
		for (int batch = 0; batch < 12; batch++) {
			forward(play);
			call(play, LOSS, NUMBER);
		}
	if (every(job->checkpoint_every, step)) {
		call(play, OBJECTS, MAIN);
		call(play, BYTES + step * 16, MAIN);
		call(play, LOSS, NUMBER);
	}
	if (job->barrier_after_first && step == 1)
		call(play, NORM, NUMBER);
}

static void make_step(struct play *play, uint32_t step)
{
	const struct job *job = play->job;

	play->step = step;
	if (job->first_differs && step == 1)
		call(play, GATHER + 32, AUTOGRAD);
	pass_all(play);
	if (job->norm) {
		call(play, NORM, NUMBER);
		call(play, LOSS, NUMBER);
	}
	if (every(job->loss_every, step))
		call(play, LOSS + 16, NUMBER);
	outside(play, step);
}

static struct play *make(const struct job *job, uint32_t steps)
{
	struct play *play = calloc(1, sizeof(*play));

	play->job = job;
	play->calls = calloc(CALLS_MAX, sizeof(*play->calls));
	call(play, OBJECTS, MAIN);
	call(play, BYTES, MAIN);
	call(play, NORM, NUMBER);
	for (uint32_t step = 1; step <= steps; step++)
		make_step(play, step);
	return play;
}

struct verdict {
	uint32_t counted_in; /* step in which the number was first told; 0 never */
	uint32_t wrong;      /* numbers told that were another one's */
	uint32_t placed, all; /* operations of steps that had a place in the end */
	int64_t step;        /* the last */
	uint32_t versions;   /* patterns found */
	char first_wrong[96];
};

static void check(struct verdict *verdict, const struct play *play, uint64_t ticket, struct steps_place place)
{
	const struct call_made *made = &play->calls[ticket - 1];

	if (place.place == STEPS_NO_PLACE || !made->step || place.step == made->step)
		return;
	if (!verdict->wrong++)
		snprintf(verdict->first_wrong, sizeof(verdict->first_wrong), "call %lu of step %u told as of step %lu",
			 ticket, made->step, place.step);
}

static struct verdict recognise_play(const struct play *play, bool late)
{
	struct steps steps = { .uncounted = late };
	struct verdict verdict = { 0 };
	struct steps_place *last = calloc(play->count + 1, sizeof(*last));

	for (uint32_t i = 0; i < play->count; i++) {
		bool found = steps_add(&steps, play->calls[i].signature, i + 1, &last[i]);
		for (uint32_t k = 0; found && k < steps.history_count; k++)
			last[steps.history[k].ticket - 1] = steps_entry_place(&steps, k);
		if (steps_told(&steps, steps.step) < 0)
			continue;
		if (!verdict.counted_in)
			verdict.counted_in = play->calls[i].step;
		check(&verdict, play, i + 1, last[i]);
		for (uint32_t k = 0; found && k < steps.history_count; k++)
			check(&verdict, play, steps.history[k].ticket, last[steps.history[k].ticket - 1]);
	}
	for (uint32_t i = 0; i < play->count; i++) {
		verdict.all += play->calls[i].step != 0;
		verdict.placed += play->calls[i].step && last[i].place != STEPS_NO_PLACE;
	}
	verdict.step = steps_told(&steps, steps.step);
	verdict.versions = steps.version;
	steps_free(&steps);
	free(last);
	return verdict;
}

static void end(struct play *play)
{
	free(play->calls);
	free(play);
}

static struct verdict recognise(const struct job *job, uint32_t steps_made, bool late)
{
	struct play *play = make(job, steps_made);
	struct verdict verdict = recognise_play(play, late);

	end(play);
	return verdict;
}

static const struct kind {
	const char *name;
	struct job job;
} ended[] = {
	{ "fsdp", { .passes = 1, .norm = true } },
	{ "fsdp with a barrier", { .passes = 1, .norm = true, .barrier_after_first = true } },
	{ "a first step that differs",
	  { .passes = 1, .norm = true, .first_differs = true, .barrier_after_first = true } },
	{ "tp", { .passes = 1, .norm = true, .tensor_parallel = true } },
	{ "ddp with norm", { .passes = 1, .norm = true, .buckets = true } },
	{ "accumulation", { .passes = 8, .norm = true } },
	{ "pipeline", { .passes = 8, .stages = 4, .norm = true, .pipeline = true } },
	{ "a middle stage", { .passes = 8, .stages = 4, .stage = 1, .norm = true, .pipeline = true } },
	{ "the last stage", { .passes = 8, .stages = 4, .stage = 3, .norm = true, .pipeline = true, .sharded = true } },
	{ "the last stage with a barrier",
	  { .passes = 8,
	    .stages = 2,
	    .stage = 1,
	    .norm = true,
	    .pipeline = true,
	    .sharded = true,
	    .barrier_after_first = true } },
	{ "the last stage with buckets",
	  { .passes = 8,
	    .stages = 4,
	    .stage = 3,
	    .norm = true,
	    .pipeline = true,
	    .buckets = true,
	    .evaluate_every = 3 } },
	{ "the last stage with tp",
	  { .passes = 8,
	    .stages = 4,
	    .stage = 3,
	    .norm = true,
	    .pipeline = true,
	    .sharded = true,
	    .tensor_parallel = true,
	    .evaluate_every = 4,
	    .checkpoint_every = 5,
	    .loss_every = 10,
	    .first_differs = true } },
	{ "pipeline and tp", { .passes = 8, .stages = 2, .norm = true, .pipeline = true, .tensor_parallel = true } },
	{ "evaluation", { .passes = 1, .norm = true, .evaluate_every = 3 } },
	{ "checkpoints", { .passes = 1, .norm = true, .checkpoint_every = 4 } },
	{ "loss", { .passes = 1, .norm = true, .loss_every = 5 } },
	{ "all of it",
	  { .passes = 2,
	    .norm = true,
	    .tensor_parallel = true,
	    .evaluate_every = 4,
	    .checkpoint_every = 5,
	    .loss_every = 10,
	    .barrier_after_first = true } },
};

/* The next number of layers to try. */
static int after(int layers)
{
	return layers + (SANITIZED ? 31 : layers < 20 ? 1 : 7);
}

Test(steps, that_end_with_a_norm_are_counted_from_the_fourth_on_with_2_to_126_layers, .timeout = 200)
{
	for (size_t i = 0; i < sizeof(ended) / sizeof(*ended); i++)
		for (int layers = 2; layers <= 126; layers = after(layers)) {
			struct job job = ended[i].job;
			job.layers = layers;
			struct verdict verdict = recognise(&job, STEPS, false);
			cr_expect_eq(verdict.wrong, 0, "%s, %d layers: %u wrong, %s", ended[i].name, layers, verdict.wrong,
				     verdict.first_wrong);
			cr_expect(verdict.counted_in && verdict.counted_in <= 5, "%s, %d layers: counted in step %u", ended[i].name,
				  layers, verdict.counted_in);
			cr_expect_eq(verdict.step, STEPS, "%s, %d layers: %ld steps", ended[i].name, layers, verdict.step);
			cr_expect_geq(verdict.placed * 10, verdict.all * 8, "%s, %d layers: %u of %u have a place", ended[i].name, layers,
				      verdict.placed, verdict.all);
		}
}

static const struct kind open_ended[] = {
	{ "fsdp", { .passes = 1 } },
	{ "fsdp by one thread", { .passes = 1, .norm = true, .manual = true } },
	{ "ddp", { .passes = 1, .buckets = true } },
	{ "ddp, loss", { .passes = 1, .buckets = true, .loss_every = 10 } },
	{ "fsdp, loss", { .passes = 1, .loss_every = 10 } },
	{ "accumulation that reduces", { .passes = 8, .norm = true, .reduces_each_pass = true } },
	{ "tp alone", { .passes = 1, .tensor_parallel = true } },
	{ "tp halves", { .passes = 4, .tensor_parallel = true, .buckets = true } },
	{ "evaluation", { .passes = 1, .evaluate_every = 7 } },
};

Test(steps, of_which_nobody_knows_whether_they_are_passes_or_layers_are_not_told, .timeout = 200)
{
	for (size_t i = 0; i < sizeof(open_ended) / sizeof(*open_ended); i++)
		for (int layers = 2; layers <= 126; layers = after(layers)) {
			struct job job = open_ended[i].job;
			job.layers = layers;
			struct verdict verdict = recognise(&job, STEPS, false);
			cr_expect_eq(verdict.counted_in, 0, "%s, %d layers: told in step %u", open_ended[i].name, layers,
				     verdict.counted_in);
			cr_expect_eq(verdict.wrong, 0);
		}
}

Test(steps, that_come_often_enough_in_a_row_are_counted_without_a_norm)
{
	struct job job = { .layers = 8, .passes = 1, .buckets = true };
	struct verdict verdict = recognise(&job, 1200, false);

	cr_expect_eq(verdict.step, 1200, "%ld", verdict.step);
	cr_expect_gt(verdict.counted_in, 1000);
	cr_expect_eq(verdict.wrong, 0, "%s", verdict.first_wrong);
}

Test(steps, of_which_the_first_may_not_have_been_counted_are_not_told)
{
	struct job job = { .layers = 8, .passes = 1, .buckets = true, .barrier_after_first = true };

	cr_expect_eq(recognise(&job, 1200, false).counted_in, 0);
}

Test(steps, before_which_others_have_gone_by_unseen_are_not_told)
{
	struct job job = { .layers = 8, .passes = 1, .norm = true };

	cr_expect_eq(recognise(&job, 300, true).counted_in, 0);
}

Test(steps, go_on_counting_when_the_program_changes)
{
	struct job first = { .layers = 6, .passes = 1, .norm = true }, second = { .layers = 9, .passes = 2, .norm = true };
	struct play *plays[] = { make(&first, 30), make(&second, 30) };
	struct steps steps = { 0 };
	struct steps_place place;
	uint64_t ticket = 0;

	for (int i = 0; i < 2; i++) {
		for (uint32_t k = 0; k < plays[i]->count; k++)
			steps_add(&steps, plays[i]->calls[k].signature, ++ticket, &place);
		end(plays[i]);
	}
	cr_expect_gt(steps_told(&steps, steps.step), 0);
	cr_expect(steps.step >= 58 && steps.step <= 61, "%lu", steps.step);
	steps_free(&steps);
}

/* The job's calls without `count` of one step, from its call `place` on; false: it has not so many, or not three times
 * as many, or these are all numbers that it ends with. */
static bool omit(struct play *play, uint32_t step, uint32_t place, uint32_t count)
{
	uint32_t first = 0, calls = 0, at, numbers = 0;

	while (play->calls[first].step != step)
		first++;
	while (play->calls[first + calls].step == step)
		calls++;
	at = first + place;
	for (uint32_t i = first; i < first + calls; i++)
		numbers += (i < at || i >= at + count) && play->calls[i].signature & PERIOD_NUMBER;
	if (place + count > calls || count * 3 > calls || !numbers)
		return false;
	play->count -= count;
	memmove(play->calls + at, play->calls + at + count, (play->count - at) * sizeof(*play->calls));
	return true;
}

enum { OMITS_IN = 20, OMITS_AGAIN = 27 };

static const struct kind thin[] = {
	{ "one bucket", { .passes = 1, .norm = true, .buckets = true } },
	{ "no gathers", { .passes = 1, .norm = true, .buckets = true, .loss_every = 10 } },
};

/* Without `count` calls of two steps. */
static void expect_counted(const struct kind *kind, int layers, uint32_t place, uint32_t count, uint32_t versions)
{
	struct job job = kind->job;
	job.layers = layers;
	struct play *play = make(&job, STEPS);

	if (!omit(play, OMITS_IN, place, count) || !omit(play, OMITS_AGAIN, place, count)) {
		end(play);
		return;
	}
	struct verdict verdict = recognise_play(play, false);
	cr_expect_eq(verdict.wrong, 0, "%s, %d layers, %u without: %u wrong, %s", kind->name, layers, place, verdict.wrong,
		     verdict.first_wrong);
	cr_expect_eq(verdict.step, STEPS, "%s, %d layers, %u without: %ld steps", kind->name, layers, place, verdict.step);
	cr_expect_geq(verdict.placed * 10, verdict.all * 8, "%s, %d layers, %u without: %u of %u have a place",
		      kind->name, layers, place, verdict.placed, verdict.all);
	cr_expect_eq(verdict.versions, versions, "%s, %d layers, %u without: another pattern",
		     kind->name, layers, place);
	end(play);
}

/* At each place of a step, or each few. */
static void expect_all_counted(const struct kind *kind, int layers, uint32_t count, uint32_t every_few)
{
	struct job job = kind->job;
	job.layers = layers;
	uint32_t versions = recognise(&job, STEPS, false).versions;

	for (uint32_t place = 0; place < (SANITIZED ? 40 : 400); place += every_few)
		expect_counted(kind, layers, place, count, versions);
}

Test(steps, that_lack_an_operation_are_counted_all_the_same, .timeout = 200)
{
	for (size_t i = 0; i < sizeof(ended) / sizeof(*ended); i++) {
		expect_all_counted(&ended[i], 3, 1, SANITIZED ? 9 : 1);
		expect_all_counted(&ended[i], 8, 1, SANITIZED ? 19 : 7);
	}
	for (size_t i = 0; i < sizeof(thin) / sizeof(*thin); i++)
		for (uint32_t place = 1; place < 3; place++) /* without its bucket it is no step */
			expect_counted(&thin[i], 1, place, 1, 1);
}

/* A skipped optimiser: `count` calls behind the norm, of the sharded parameters. */
Test(steps, that_lack_some_operations_in_a_row_are_counted_all_the_same, .timeout = 200)
{
	for (size_t i = 0; i < sizeof(ended) / sizeof(*ended); i++)
		expect_all_counted(&ended[i], 9, 3, SANITIZED ? 19 : 7);
}

Test(steps, that_lack_the_same_operation_one_after_the_other_are_all_counted)
{
	for (size_t i = 0; i < sizeof(ended) / sizeof(*ended); i++) {
		struct job job = ended[i].job;
		job.layers = 9;
		struct play *play = make(&job, STEPS);
		for (uint32_t step = OMITS_IN; step < OMITS_IN + 4; step++)
			cr_assert(omit(play, step, 5, 1));
		struct verdict verdict = recognise_play(play, false);
		cr_expect_eq(verdict.wrong, 0, "%s: %u wrong, %s", ended[i].name, verdict.wrong, verdict.first_wrong);
		bool told = verdict.step == STEPS || (job.evaluate_every && verdict.step == -1);
		cr_expect(told, "%s: %ld steps", ended[i].name, verdict.step);
		end(play);
	}
}

/* A step that skipped its norm and loss, or one that had two passes? */
Test(steps, of_which_one_has_no_end_are_not_told_from_there_on)
{
	struct job job = { .layers = 9, .passes = 1, .norm = true };
	struct play *play = make(&job, 0);

	for (uint32_t step = 1; step <= STEPS; step++) {
		job.norm = step != OMITS_IN;
		make_step(play, step);
	}
	struct verdict verdict = recognise_play(play, false);
	cr_expect_leq(verdict.counted_in, 5);
	cr_expect_eq(verdict.step, -1, "%ld steps", verdict.step);
	end(play);
}

/* Much in the forward pass, two buckets in the backward pass: an evaluation is all of a step but little. */
Test(steps, an_evaluation_is_none_of_them_even_where_the_backward_pass_calls_little)
{
	struct job job = { .norm = true, .passes = 1, .buckets = true, .layers = 2 };
	struct play *play = make(&job, 0);

	for (uint32_t step = 1; step <= STEPS; step++) {
		play->step = step;
		for (int i = 0; i < 12; i++)
			call(play, KEYS, MAIN);
		make_step(play, step);
		play->step = 0;
		for (int batch = 0; batch < 6 && step % 9 == 0; batch++) {
			for (int i = 0; i < 12; i++)
				call(play, KEYS, MAIN);
			if (step < 30)
				call(play, LOSS, NUMBER);
		}
	}
	struct verdict verdict = recognise_play(play, false);
	cr_expect_eq(verdict.wrong, 0, "%s", verdict.first_wrong);
	cr_expect_eq(verdict.step, STEPS, "%ld steps", verdict.step);
	end(play);
}

/* Then it is another program: what all steps lack is no part of them. */
Test(steps, that_lack_the_same_operation_from_now_on_have_another_pattern)
{
	struct job job = { .layers = 9, .passes = 1, .norm = true };
	struct play *play = make(&job, STEPS);
	struct steps steps = { 0 };
	struct steps_place place;

	for (uint32_t step = OMITS_IN; step <= STEPS; step++)
		cr_assert(omit(play, step, 12, 1));
	for (uint32_t i = 0; i < play->count; i++) {
		steps_add(&steps, play->calls[i].signature, i + 1, &place);
		uint32_t step = play->calls[i].step;
		if (step > OMITS_IN + 12) {
			cr_assert_neq(place.place, STEPS_NO_PLACE, "call %u of step %u", i, step);
			cr_assert_eq(place.step, step, "step %u told as %lu", step, place.step);
		}
	}
	cr_assert_eq(steps_told(&steps, steps.step), STEPS);
	cr_assert_eq(steps.period, 3 * 9 + 2 - 1);
	steps_free(&steps);
	end(play);
}

/* 512 ranks have 512 histories. */
Test(steps, that_are_certain_need_no_more_than_half_of_the_history)
{
	enum { PERIOD = 20, CALLS = 2 * STEPS_HISTORY_MAX };
	struct steps steps = { 0 };
	uint32_t most = 0;
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < CALLS; i++) {
		struct steps_place place;

		steps_add(&steps, (uint32_t)(i % PERIOD + 1) * 2654435761u << 3 | MAIN, i + 1, &place);
		most = steps.history_count > most ? steps.history_count : most;
		wrong += steps.trust == STEPS_CERTAIN && (place.place != i % PERIOD || place.step != i / PERIOD + 1);
	}
	cr_expect_eq(steps.trust, STEPS_CERTAIN);
	cr_expect_lt(most, STEPS_HISTORY_MAX / 2, "%u operations", most);
	cr_expect_null(steps.history);
	cr_expect_eq(wrong, 0, "%lu operations have a wrong place", wrong);
	steps_free(&steps);
}
