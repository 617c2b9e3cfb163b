/* SPDX-License-Identifier: MIT */
#include "suite/oracle.h"

#include <math.h>

/* The noise of a job, as it was made: play.c. */
struct model {
	const struct suite_draw *draw;
	const struct suite_course *course;
};

bool oracle_applies(const struct suite_draw *draw)
{
	return draw->fault >= FAULT_EVERY_STEP && draw->fault <= FAULT_SPREAD;
}

/* The level that is bent to this share of the noise, and *slope: how much that changes with the share. */
static double unbent(double share, enum suite_tail tail, double *slope)
{
	if (tail == TAIL_NORMAL) {
		*slope = 1;
		return share;
	}
	if (tail == TAIL_LOG_NORMAL) {
		*slope = 1 / fmax(1 + share, 1e-9);
		return log(fmax(1 + share, 1e-9));
	}
	double least = 0, most = fabs(share);
	for (int i = 0; i < 60; i++) {
		double level = (least + most) / 2;
		if (level * exp(0.1 * level * level) < fabs(share))
			least = level;
		else
			most = level;
	}
	*slope = exp(-0.1 * least * least) / (1 + 0.2 * least * least);
	return copysign(least, share);
}

/* What a rank works longer in a step, in units of the noise. */
static double seen(const struct model *model, int rank, int step, bool with_fault)
{
	const struct suite_draw *draw = model->draw;
	double ms = model->course->noise[(size_t)(step - 1) * (size_t)draw->ranks + (size_t)rank] -
		    model->course->differences[rank] * draw->step_ms;

	return (ms + (with_fault ? suite_late_ms(draw, rank, step) : 0)) / (draw->noise * draw->step_ms);
}

/* Logarithm of the density of what is seen in this step, given the step before, if that much of it is noise. */
static double likelihood(const struct model *model, int rank, int step, bool with_fault)
{
	const struct suite_draw *draw = model->draw;
	double slope, ignored, lasts = step > 1 ? draw->lasts : 0;
	double level = unbent(seen(model, rank, step, with_fault), draw->tail, &slope);
	double before = step > 1 ? unbent(seen(model, rank, step - 1, with_fault), draw->tail, &ignored) : 0;
	double innovation = level - lasts * before;

	return log(slope) - innovation * innovation / (2 * (1 - lasts * lasts));
}

/* By how much more likely it is that this rank is at fault than that it is noise, as a logarithm, of one step. */
static double ratio(const struct model *model, int rank, int step)
{
	return likelihood(model, rank, step, false) - likelihood(model, rank, step, true);
}

/* Of one rank, or of all of a host: the first step in which it is known; 0 never. */
static int known_in(const struct model *model, const int *ranks, int count, double enough)
{
	const struct suite_draw *draw = model->draw;
	double evidence = 0;

	for (int step = draw->fault_step; step <= draw->steps; step++) {
		/* Its neighbours have the same noise. */
		if (draw->noise_of_hosts && draw->fault != FAULT_HOST && suite_late_ms(draw, ranks[0], step) > 0)
			return step;
		for (int i = 0; i < (draw->noise_of_hosts ? 1 : count); i++)
			evidence += ratio(model, ranks[i], step);
		if (evidence >= enough)
			return step;
	}
	return 0;
}

int oracle_steps(const struct suite_draw *draw, const struct suite_course *course)
{
	const struct model model = { draw, course };
	int ranks[64], count = 0, latest = 0;
	bool host = draw->fault == FAULT_HOST;

	for (int rank = 0; rank < draw->ranks && count < 64; rank++)
		if (suite_is_at_fault(draw, rank))
			ranks[count++] = rank;
	/* Each rank, or host, and each step in which it may begin, is one test of many. */
	double suspects = host ? (double)draw->ranks / draw->per_host : draw->ranks;
	double enough = log(suspects * draw->steps * ORACLE_FALSE_ALARMS);
	for (int i = 0; i < (host ? 1 : count); i++) {
		int step = known_in(&model, ranks + i, host ? count : 1, enough);
		if (!step)
			return 0;
		latest = step > latest ? step : latest;
	}
	return latest ? latest - draw->fault_step + 1 : 0;
}
