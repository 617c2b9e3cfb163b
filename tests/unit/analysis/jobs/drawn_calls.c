/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/drawn_calls.h"

#include <inttypes.h>
#include <stdbool.h>

#include "analysis/steps/period.h"
#include "analysis/steps/steps.h"

enum { MAIN = PERIOD_FIRST_THREAD, AUTOGRAD = 0, PROGRAMS = 3 };
enum call { GATHER = 8, SCATTER, NORM, LOSS, SEND, RECEIVE, BARRIER, BUCKET };

struct program {
	uint32_t layers, passes, loss_every, steps;
	bool gathers, buckets, transfers, norm, number;
	uint32_t omits, adds; /* one operation of so many; 0: none */
};

struct drawn {
	uint64_t random, ticket;
	struct program program;
	struct steps steps;
	FILE *all;
};

static uint32_t draw(struct drawn *drawn, uint32_t below)
{
	drawn->random = drawn->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(drawn->random >> 33) % below;
}

static void add(struct drawn *drawn, uint32_t what, uint32_t marks)
{
	struct steps *steps = &drawn->steps;
	struct steps_place place = { 0 };
	bool found = steps_add(steps, what * 2654435761u << 3 | marks, ++drawn->ticket, &place);

	fprintf(drawn->all, "%u %" PRIu64 " %" PRId64 "\n", place.place, place.step, steps_told(steps, place.step));
	for (uint32_t i = 0; found && i < steps->history_count; i++) {
		place = steps_entry_place(steps, i);
		fprintf(drawn->all, "%" PRIu64 " is %u %" PRIu64 "\n", steps->history[i].ticket, place.place, place.step);
	}
}

static void call(struct drawn *drawn, uint32_t what, uint32_t marks)
{
	if (drawn->program.adds && !draw(drawn, drawn->program.adds))
		add(drawn, BARRIER, MAIN);
	if (!drawn->program.omits || draw(drawn, drawn->program.omits))
		add(drawn, what, marks);
}

static void pass(struct drawn *drawn, bool last)
{
	const struct program *program = &drawn->program;

	if (program->transfers)
		call(drawn, RECEIVE, PERIOD_TRANSFER | MAIN);
	for (uint32_t layer = 0; layer < program->layers && program->gathers; layer++)
		call(drawn, GATHER, MAIN);
	if (program->transfers)
		call(drawn, SEND, PERIOD_TRANSFER | MAIN);
	for (uint32_t layer = 0; layer < program->layers; layer++) {
		if (program->gathers)
			call(drawn, GATHER, AUTOGRAD);
		if (program->buckets && last)
			call(drawn, BUCKET + 16 * (layer + 1 == program->layers), AUTOGRAD);
		if (!program->buckets)
			call(drawn, SCATTER, AUTOGRAD);
	}
}

static void play_program(struct drawn *drawn)
{
	const struct program *program = &drawn->program;

	for (uint32_t step = 1; step <= program->steps; step++) {
		for (uint32_t i = 1; i <= program->passes; i++)
			pass(drawn, i == program->passes);
		if (program->norm)
			call(drawn, NORM, PERIOD_NUMBER | MAIN);
		if (program->loss_every && step % program->loss_every == 0)
			call(drawn, LOSS, (program->number ? PERIOD_NUMBER : 0) | MAIN);
	}
}

static void draw_program(struct drawn *drawn)
{
	static const uint32_t rates[] = { 0, 0, 0, 40, 150, 600 };
	struct program *program = &drawn->program;

	program->layers = 1 + draw(drawn, 10);
	program->passes = draw(drawn, 3) ? 1 : 1 + draw(drawn, 4);
	program->loss_every = draw(drawn, 2) ? 2 + draw(drawn, 9) : 0;
	program->steps = 6 + draw(drawn, 50);
	program->gathers = draw(drawn, 3);
	program->buckets = draw(drawn, 2);
	program->transfers = !draw(drawn, 3);
	program->norm = draw(drawn, 3);
	program->number = draw(drawn, 2);
	program->omits = rates[draw(drawn, 6)];
	program->adds = rates[draw(drawn, 6)];
}

void drawn_calls_play(unsigned int number, FILE *all, FILE *sums)
{
	struct drawn drawn = { .random = number, .all = all, .steps = { .uncounted = number % 8 == 7 } };

	for (int i = 0; i < PROGRAMS; i++) {
		const struct steps *steps = &drawn.steps;

		draw_program(&drawn);
		play_program(&drawn);
		fprintf(sums,
			"  %" PRIu64
			" operations, %u layers, %u steps: pattern %u of %u operations, trust %d, step %" PRIu64
			", %" PRId64 "\n",
			drawn.ticket, drawn.program.layers, drawn.program.steps, steps->version, steps->period,
			(int)steps->trust, steps->step, steps_told(steps, steps->step));
	}
	steps_free(&drawn.steps);
}
