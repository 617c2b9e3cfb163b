/* SPDX-License-Identifier: MIT */
#include "analysis/numbers/late_level.h"

#include <math.h>

/* By what a rank was late on average in the parts of the newest rows, the newest part first. */
struct parts {
	double late_ms[LATE_LEVEL_PARTS];   /* what it was early by is no lateness */
	double either_ms[LATE_LEVEL_PARTS]; /* negative: early */
	double least_ms, most_ms;           /* the least of late_ms, and the most of both, either way */
	double mean_ms;                     /* of either_ms */
	bool stays;                         /* alike in all parts, and not as noise is that lasts */
};

/* Other ranks that are far from one. */
struct others {
	double times;         /* as late as any of them it is, at least */
	double ranks, places; /* how many they are, and of how many places */
	uint32_t mates, together;    /* that are nearly as late; of its place */
};

/* What it worked longer, and was inside operations less. */
struct spent {
	double longer_ms, less_ms;
	uint32_t rows;
};

static struct spent add_up(const struct late_past *past, uint64_t newest, uint32_t rows)
{
	struct spent spent = { 0 };

	for (uint32_t back = 0; back < rows; back++) {
		uint32_t at = (uint32_t)((newest - back) % LATE_SERIES_KEPT);
		if (isnan(past->longer_ms[at]))
			continue;
		spent.longer_ms += past->longer_ms[at];
		spent.less_ms += past->less_ms[at];
		spent.rows++;
	}
	return spent;
}

/* A part is added up in pieces: for what a rank works longer at the end of a row the others may wait in the next one.
 * False: half of its rows are not known. */
static bool open_part(const struct late_past *past, uint64_t newest, uint32_t rows, double *late_ms, double *either_ms)
{
	uint32_t piece = rows / LATE_LEVEL_PIECES;
	struct spent all = add_up(past, newest, rows);

	*late_ms = 0;
	for (uint32_t first = 0; first < rows; first += piece) {
		uint32_t left = rows - first;
		struct spent spent = add_up(past, newest - first, left < piece ? left : piece);
		*late_ms += fmax(late_level_either_way(spent.longer_ms, spent.less_ms), 0) / all.rows;
	}
	*either_ms = late_level_either_way(all.longer_ms, all.less_ms) / all.rows;
	return all.rows * 2 > rows;
}

/* One of two is early by what the other one is late by. */
static bool open_parts(const struct late_series *series, uint32_t index, uint32_t rows, struct parts *parts)
{
	const struct late_past *past = &series->pasts[index];

	*parts = (struct parts){ .least_ms = INFINITY };
	for (uint32_t i = 0; i < LATE_LEVEL_PARTS; i++) {
		if (!open_part(past, series->row - i * rows, rows, &parts->late_ms[i], &parts->either_ms[i]))
			return false;
		if (past->alike == 2)
			parts->either_ms[i] = fmax(parts->either_ms[i], 0);
		parts->least_ms = fmin(parts->least_ms, parts->late_ms[i]);
		parts->most_ms = fmax(parts->most_ms, fmax(parts->late_ms[i], fabs(parts->either_ms[i])));
		parts->mean_ms += parts->either_ms[i] / LATE_LEVEL_PARTS;
	}
	return true;
}

static bool is_alike(const struct parts *own)
{
	double least_ms = INFINITY, most_ms = 0;

	for (uint32_t i = 0; i < LATE_LEVEL_PARTS; i++) {
		least_ms = fmin(least_ms, own->either_ms[i]);
		most_ms = fmax(most_ms, own->either_ms[i]);
	}
	return most_ms <= LATE_LEVEL_ALIKE * least_ms;
}

/* Is what a piece has to do with the one before more than half of it, as with noise that lasts? By von Neumann's ratio
 * (1941), which is 2 where they have nothing to do with each other. */
static bool wanders(const struct late_series *series, uint32_t index, uint32_t rows, double mean_ms)
{
	const struct late_past *past = &series->pasts[index];
	uint32_t piece = rows / LATE_LEVEL_PIECES;
	double squares = 0, changes = 0, before_ms = NAN;

	for (uint32_t first = 0; first + piece <= LATE_LEVEL_PARTS * rows; first += piece) {
		struct spent spent = add_up(past, series->row - first, piece);
		double late_ms = late_level_either_way(spent.longer_ms, spent.less_ms) / spent.rows;
		if (!spent.rows)
			continue;
		squares += (late_ms - mean_ms) * (late_ms - mean_ms);
		changes += isnan(before_ms) ? 0 : (late_ms - before_ms) * (late_ms - before_ms);
		before_ms = late_ms;
	}
	return changes < squares;
}

/* In half of the rows it was late by half of the mean: else it is late now and then. */
static bool is_late_mostly(const struct late_past *past, uint64_t newest, uint32_t rows, double mean_ms)
{
	uint32_t known = 0, late = 0;

	for (uint32_t back = 0; back < rows; back++) {
		uint32_t at = (uint32_t)((newest - back) % LATE_SERIES_KEPT);
		known += !isnan(past->longer_ms[at]);
		late += fmin(past->longer_ms[at], past->less_ms[at]) * 2 >= mean_ms;
	}
	return late * 2 >= known;
}

/* How many times as late it is in each part as the other one was late or early in any. */
static double times_in_parts(const struct parts *own, const struct parts *other)
{
	return own->least_ms / other->most_ms;
}

/* The same where the parts are alike: so many times LATE_LEVEL_BEYOND as LATE_LEVEL_PART and LATE_LEVEL_MEAN allow. */
static double times_on_average(const struct parts *own, const struct parts *other)
{
	double most_ms = 0, least_ms = INFINITY;

	if (!own->stays)
		return 0;
	for (uint32_t i = 0; i < LATE_LEVEL_PARTS; i++) {
		least_ms = fmin(least_ms, own->either_ms[i]);
		most_ms = fmax(most_ms, fabs(other->either_ms[i]));
	}
	return LATE_LEVEL_BEYOND *
	       fmin(least_ms / (most_ms * LATE_LEVEL_PART), own->mean_ms / (fabs(other->mean_ms) * LATE_LEVEL_MEAN));
}

/* What makes a whole host late makes its ranks late together. */
static bool is_of_same_place(const struct late_series *series, uint32_t one, uint32_t other)
{
	return series->pasts[one].place && series->pasts[one].place == series->pasts[other].place;
}

/* Of two that are compared with each other the one that is not late shows nothing. */
static void add_other(const struct late_series *series, const struct late_past *past, const struct parts *other,
		      double times, struct others *others)
{
	others->times = fmin(others->times, times);
	if (past->alike == 2 && other->most_ms <= 0)
		return;
	others->ranks++;
	others->places += past->place ? 1.0 / series->placed[past->place] : 1;
}

/* False: the rank is not far enough from this one. */
static bool weigh(const struct late_series *series, uint32_t index, uint32_t i, const struct parts *own,
		  const struct parts *other, struct others *others)
{
	bool late = other->mean_ms * 2 >= own->mean_ms;
	double times = fmax(times_in_parts(own, other), times_on_average(own, other));

	if (series->pasts[i].open)
		return own->mean_ms * LATE_SERIES_BESIDE >= other->mean_ms;
	if (times >= LATE_LEVEL_BEYOND) {
		add_other(series, &series->pasts[i], other, times, others);
		return true;
	}
	if (late && is_of_same_place(series, index, i)) {
		others->together++;
		return true;
	}
	others->mates++;
	return late && other->mean_ms <= own->mean_ms;
}

/* Ranks of one machine differ for good by little; of several, by as much as chance has it. */
static double least_times(const struct late_series *series, uint32_t index, const struct others *others, bool differs)
{
	uint32_t place = series->pasts[index].place;

	if (!place)
		return others->ranks >= LATE_LEVEL_OTHERS ? LATE_LEVEL_BEYOND : INFINITY;
	bool whole = others->together && others->together + 1 == series->placed[place];
	double least = late_level_beyond(whole ? others->places : others->ranks);
	return differs || others->ranks < LATE_LEVEL_OTHERS ? least : fmin(least, LATE_LEVEL_FAR);
}

static bool is_level(const struct late_series *series, uint32_t index, uint32_t rows, const struct parts *own,
		     double row_ms)
{
	struct others others = { .times = INFINITY };

	for (uint32_t i = 0; i < series->count; i++) {
		struct parts other;
		if (i != index && open_parts(series, i, rows, &other) && !weigh(series, index, i, own, &other, &others))
			return false;
	}
	double least = least_times(series, index, &others, own->mean_ms < LATE_LEVEL_DIFFER * row_ms);
	double known = others.ranks + others.together + others.mates + 1;
	return isfinite(least) && others.times >= least && others.mates * LATE_LEVEL_MATES <= known;
}

static uint32_t rows_of_part(const struct late_series *series, uint32_t index, double row_ms)
{
	double lasts = LATE_LEVEL_LASTS * late_series_noise_rows(series, index);
	double rows = fmax(row_ms > 0 ? LATE_LEVEL_PART_MS / row_ms : 0, LATE_LEVEL_ROWS);

	return (uint32_t)fmin(fmax(rows, lasts), LATE_LEVEL_ROWS_MAX);
}

static double least_ms(const struct late_past *past, double row_ms)
{
	return LATE_LEVEL_SHARE * row_ms * (past->alike == 2 ? LATE_LEVEL_PAIR : 1);
}

static bool is_proven_over(const struct late_series *series, uint32_t index, uint32_t rows, double row_ms, bool mostly)
{
	struct parts own;

	if (series->row < LATE_SERIES_FIRST + LATE_LEVEL_PARTS * rows || !open_parts(series, index, rows, &own) ||
	    own.least_ms < least_ms(&series->pasts[index], row_ms))
		return false;
	own.stays = is_alike(&own) && !wanders(series, index, rows, own.mean_ms);
	return (!mostly || is_late_mostly(&series->pasts[index], series->row, LATE_LEVEL_PARTS * rows, own.mean_ms)) &&
	       is_level(series, index, rows, &own, row_ms);
}

bool late_level_may_be(const struct late_series *series, uint32_t index, double row_ms)
{
	const struct late_past *past = &series->pasts[index];
	double late_ms, either_ms;

	return open_part(past, series->row, LATE_LEVEL_ROWS, &late_ms, &either_ms) && late_ms >= least_ms(past, row_ms);
}

/* Over twice as many rows noise is smaller on average. */
bool late_level_is_proven(const struct late_series *series, uint32_t index, double row_ms, bool mostly)
{
	for (uint32_t rows = rows_of_part(series, index, row_ms); rows <= LATE_LEVEL_ROWS_MAX; rows *= 2)
		if (is_proven_over(series, index, rows, row_ms, mostly))
			return true;
	return false;
}

double late_level_mean_ms(const struct late_series *series, uint32_t index)
{
	struct spent spent = add_up(&series->pasts[index], series->row, LATE_LEVEL_PARTS * LATE_LEVEL_ROWS);

	return spent.rows ? late_level_either_way(spent.longer_ms, spent.less_ms) / spent.rows : 0;
}

bool late_level_lasts(const struct late_series *series, uint32_t index, double row_ms)
{
	struct spent spent = add_up(&series->pasts[index], series->row, LATE_LEVEL_ROWS);

	return !spent.rows ||
	       late_level_either_way(spent.longer_ms, spent.less_ms) / spent.rows * 2 >= LATE_LEVEL_SHARE * row_ms;
}
