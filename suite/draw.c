/* SPDX-License-Identifier: MIT */
#include "suite/draw.h"

#include <stdio.h>

#include "suite/chances.h"

enum { CREEP_STEPS = 100, BLOCK_EVERY = 50, BLOCK = 10 };

static const char *const shapes[] = { "FSDP", "DDP", "HSDP", "TP", "pipeline" };
static const char *const tails[] = { "normal", "heavy-tailed", "log-normal" };
static const char *const habits[] = { "", ", checkpoints", ", evaluation", ", uneven experts", ", sequence ramp",
				      ", garbage collection", ", one pause" };
static const char *const causes[] = { "host, not seen", "fsync", "fsync of its writer", "run queue", "GPU, not seen",
				      "throttled" };
static const char *const faults[] = { "healthy",
				      "every step",
				      "from the first step",
				      "creep",
				      "one step in 3 to 20",
				      "ten steps of fifty",
				      "two at once",
				      "two by turns",
				      "a host",
				      "GPU slower at everything",
				      "hangs",
				      "stopped",
				      "killed",
				      "exits",
				      "other count",
				      "call left out",
				      "everybody slower",
				      "transfers slower" };

const char *suite_fault_name(enum suite_fault fault)
{
	return faults[fault];
}

const char *suite_shape_name(enum suite_shape shape)
{
	return shapes[shape];
}

static bool is_late(enum suite_fault fault)
{
	return fault >= FAULT_EVERY_STEP && fault <= FAULT_SPREAD;
}

bool suite_is_at_fault(const struct suite_draw *draw, int rank)
{
	if (draw->fault == FAULT_HEALTHY || draw->fault >= FAULT_EVERYBODY)
		return false;
	if (draw->fault == FAULT_HOST)
		return rank / draw->per_host == draw->rank / draw->per_host;
	return rank == draw->rank || rank == draw->other;
}

double suite_late_ms(const struct suite_draw *draw, int rank, int step)
{
	int since = step - draw->fault_step;

	if (since < 0 || (draw->fault != FAULT_EVERYBODY && (!is_late(draw->fault) || !suite_is_at_fault(draw, rank))))
		return 0;
	switch (draw->fault) {
	case FAULT_ONE_IN:
		return since % draw->every ? 0 : draw->ms;
	case FAULT_CREEP:
		return draw->ms * fmin(since, CREEP_STEPS) / CREEP_STEPS;
	case FAULT_BLOCKS:
		return since % BLOCK_EVERY < BLOCK ? draw->ms : 0;
	case FAULT_BY_TURNS:
		return since % 2 == (rank == draw->other) ? draw->ms : 0;
	default:
		return draw->ms;
	}
}

static void draw_size(struct suite_draw *draw, struct chances *chances, int most_ranks)
{
	static const int ranks[] = { 8,  8,  8,  8,  8,  8,  8,  8,  16,  16,  16,  16,  16,
				     16, 32, 32, 32, 32, 64, 64, 64, 128, 128, 256, 512, 1024 };
	static const int widths[] = { 2, 4, 8 };

	draw->shape = (enum suite_shape)below(chances, SHAPES);
	do {
		draw->ranks = ranks[below(chances, sizeof(ranks) / sizeof(*ranks))];
	} while (draw->ranks > most_ranks);
	draw->per_host = draw->ranks > 8 ? 8 : 4;
	do {
		draw->width = widths[below(chances, 3)];
	} while (draw->width * 2 > draw->ranks);
	draw->layers = 1 + below(chances, draw->ranks > 128 ? 2 : 4);
	draw->alike = one_in(chances, 2);
	draw->step_ms = between(chances, 150, 2000);
}

static void draw_noise(struct suite_draw *draw, struct chances *chances, double least, double most)
{
	static const double lasts[] = { 0, 0, 0.5, 0.8, 0.9, 0.95 };

	draw->noise = between(chances, least, most);
	draw->lasts = lasts[below(chances, 6)];
	draw->tail = (enum suite_tail)below(chances, TAILS);
	draw->noise_of_hosts = draw->ranks > 16 && one_in(chances, 6);
	draw->differences = one_in(chances, 2) ? 0.02 * uniform(chances) : 0;
}

/* From a fault's weight. */
static enum suite_fault draw_fault(struct chances *chances, const struct suite_draw *draw)
{
	static const int weights[FAULTS] = {
		[FAULT_EVERY_STEP] = 10, [FAULT_FROM_START] = 6, [FAULT_CREEP] = 6,  [FAULT_ONE_IN] = 9,
		[FAULT_BLOCKS] = 5,	 [FAULT_TWO] = 6,	 [FAULT_BY_TURNS] = 5, [FAULT_HOST] = 5,
		[FAULT_SPREAD] = 8,	 [FAULT_NEVER] = 6,	 [FAULT_STOPPED] = 4, [FAULT_KILLED] = 5,
		[FAULT_EXITED] = 4,	 [FAULT_COUNT] = 4,	 [FAULT_SKIP] = 4,    [FAULT_EVERYBODY] = 3,
		[FAULT_TRANSFERS] = 3,
	};
	int sum = 0, at;
	enum suite_fault fault = FAULT_HEALTHY;

	for (int i = 0; i < FAULTS; i++)
		sum += weights[i];
	at = below(chances, sum);
	while (at >= weights[fault])
		at -= weights[fault++];
	bool hosts = draw->ranks > (fault == FAULT_HOST ? 2 : 1) * draw->per_host; /* one of two is half of the job */
	return !hosts && (fault == FAULT_HOST || fault == FAULT_TRANSFERS) ? FAULT_EVERY_STEP : fault;
}

/* Only a GPU is slow at everything, and what NVML says of one that is hot goes on. */
static enum suite_cause draw_cause(struct chances *chances, enum suite_fault fault)
{
	if (fault == FAULT_SPREAD)
		return one_in(chances, 2) ? CAUSE_THROTTLED : CAUSE_UNSEEN_GPU;
	if (!is_late(fault))
		return CAUSE_UNSEEN_HOST;
	bool goes_on = fault == FAULT_EVERY_STEP || fault == FAULT_FROM_START || fault == FAULT_TWO;
	return (enum suite_cause)below(chances, goes_on ? CAUSES : CAUSE_THROTTLED);
}

/* In how large a part of the steps it is late. */
static double part_late(const struct suite_draw *draw)
{
	switch (draw->fault) {
	case FAULT_ONE_IN:
		return 1.0 / draw->every;
	case FAULT_BY_TURNS:
		return 0.5;
	case FAULT_BLOCKS:
		return (double)BLOCK / BLOCK_EVERY;
	default:
		return 1;
	}
}

/* Stages of a pipeline wait for each other: forward for the first batch, back for the last one, and in the end
 * for the first stage (play.c). */
double suite_step_ms(const struct suite_draw *draw)
{
	double batches = 2 * draw->layers, filling = draw->width - 2;

	if (draw->shape != SHAPE_STAGES)
		return draw->step_ms;
	return draw->step_ms * (0.3 * (batches + filling) / batches + 0.9 + 0.6 * filling / batches + 0.7);
}

static void draw_lateness(struct suite_draw *draw, struct chances *chances)
{
	double share = draw->fault == FAULT_SPREAD      ? 0.04
		       : draw->fault == FAULT_TRANSFERS ? 0.05
							: 0.03,
	       step_ms = suite_step_ms(draw);

	draw->every = draw->fault == FAULT_ONE_IN ? 3 + below(chances, 18) : 1;
	draw->cause = draw_cause(chances, draw->fault);
	draw->times = between(chances, 1.2, 10);
	draw->ms = draw->times * fmax(20, share * step_ms / part_late(draw));
	if (draw->fault == FAULT_SPREAD) /* 4 % of the time that a step takes then */
		draw->ms = step_ms * fmin(share * draw->times, 0.4) / (1 - fmin(share * draw->times, 0.4));
}

/* Who leaves out a call goes on with the next one: that must be no other call's twin, or it would be served. */
static void draw_place(struct suite_draw *draw, struct chances *chances)
{
	int places = draw->shape == SHAPE_STAGES ? 4 : 2 * draw->layers + 1;

	draw->place = below(chances, places);
	if (draw->fault != FAULT_SKIP)
		return;
	if (draw->shape >= SHAPE_TENSOR)
		draw->fault = FAULT_COUNT;
	else
		draw->place = (draw->shape == SHAPE_BUCKETS ? 2 : 1) * draw->layers - 1;
}

struct suite_draw suite_faulty(unsigned seed, int most_ranks)
{
	struct suite_draw draw = { .seed = seed, .other = -1 };
	struct chances chances = { 0x5eed0000u + seed };

	draw_size(&draw, &chances, most_ranks);
	draw_noise(&draw, &chances, 0.003, 0.04);
	draw.fault = draw_fault(&chances, &draw);
	draw.rank = below(&chances, draw.ranks);
	if (draw.fault == FAULT_TWO || draw.fault == FAULT_BY_TURNS)
		draw.other = (draw.rank + 1 + below(&chances, draw.ranks - 1)) % draw.ranks;
	draw.fault_step = draw.fault == FAULT_FROM_START ? 1 : 30 + below(&chances, 60);
	draw_lateness(&draw, &chances);
	draw_place(&draw, &chances);
	/* As long as docs/analysis.md says that it may take: 60 steps, 24 windows of 2 s, or 12 times. */
	double needed = fmax(fmax(120, 12 * draw.every), draw.fault == FAULT_SPREAD ? 130000 / draw.step_ms : 0);
	if (draw.fault == FAULT_CREEP || draw.fault == FAULT_BLOCKS)
		needed = 250;
	draw.steps = draw.fault_step + (int)needed;
	return draw;
}

struct suite_draw suite_healthy(unsigned seed, int most_ranks)
{
	struct suite_draw draw = { .seed = seed, .other = -1, .rank = -1, .every = 1, .steps = 300 };
	struct chances chances = { 0xca1f0000u + seed };

	draw_size(&draw, &chances, most_ranks);
	draw_noise(&draw, &chances, 0.005, 0.12);
	draw.habit = (enum suite_habit)below(&chances, HABITS);
	if (draw.shape == SHAPE_STAGES && draw.habit == HABIT_EVALUATION)
		draw.habit = HABIT_NONE;
	return draw;
}

struct suite_draw suite_draw(unsigned seed, int most_ranks)
{
	return seed % 3 ? suite_faulty(seed, most_ranks) : suite_healthy(seed, most_ranks);
}

void suite_describe(const struct suite_draw *draw, char *text, size_t room)
{
	int written = snprintf(
	    text, room,
	    "%s, %d ranks in groups of %d, %d layers, %.0f ms; noise %.1f %%, %s, lasts by %g%s; apart %.1f %%%s",
	    shapes[draw->shape], draw->ranks, draw->width, draw->layers, draw->step_ms, 100 * draw->noise,
	    tails[draw->tail], draw->lasts, draw->noise_of_hosts ? ", of hosts" : "", 100 * draw->differences,
	    habits[draw->habit]);

	if (draw->fault == FAULT_HEALTHY || written < 0 || (size_t)written >= room)
		return;
	snprintf(text + written, room - (size_t)written,
		 "; %s: rank %d%s, %.1f times: %.0f ms, every %d, from step %d of %d, %s", faults[draw->fault],
		 draw->rank, draw->other >= 0 ? " and another" : "", draw->times, draw->ms, draw->every,
		 draw->fault_step, draw->steps, causes[draw->cause]);
}
