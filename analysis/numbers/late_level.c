/* SPDX-License-Identifier: MIT */
#include "analysis/numbers/late_level.h"

#include <math.h>

#include "analysis/numbers/late_series.h"

/* What one rank was late by in the parts of the newest rows, the newest first; negative: early. */
struct parts {
	double late_ms[LATE_LEVEL_PARTS];
	double least_ms, most_ms, mean_ms; /* most_ms: either way */
};

/* Late where it works longer and is inside operations less, early where it works less and is inside longer. */
static double smaller(double longer, double less)
{
	if (longer > 0 && less > 0)
		return fmin(longer, less);
	return longer < 0 && less < 0 ? fmax(longer, less) : 0;
}

/* On average over so many rows; NAN: half of them are not known. Its work and its waits are added up apart: for what it
 * works longer at the end of a row the others may wait in the next one. */
static double part_ms(const struct late_series *series, uint32_t index, uint32_t from, uint32_t rows)
{
	const struct late_past *past = &series->pasts[index];
	double longer = 0, less = 0;
	uint32_t known = 0;

	for (uint32_t back = from; back < from + rows; back++) {
		uint32_t at = (uint32_t)((series->row - back) % LATE_SERIES_KEPT);
		if (isnan(past->longer_ms[at]))
			continue;
		longer += past->longer_ms[at];
		less += past->less_ms[at];
		known++;
	}
	return known * 2 > rows ? smaller(longer, less) / known : NAN;
}

/* Of one of two, only what it is late by: the other one is early by that. */
static double either_way(const struct late_series *series, uint32_t index, double late_ms)
{
	return series->pasts[index].paired ? fmax(late_ms, 0) : fabs(late_ms);
}

static bool open_parts(const struct late_series *series, uint32_t index, uint32_t rows, struct parts *parts)
{
	*parts = (struct parts){ .least_ms = INFINITY };
	for (uint32_t i = 0; i < LATE_LEVEL_PARTS; i++) {
		double late_ms = part_ms(series, index, i * rows, rows);
		if (isnan(late_ms))
			return false;
		parts->late_ms[i] = late_ms;
		parts->least_ms = fmin(parts->least_ms, late_ms);
		parts->most_ms = fmax(parts->most_ms, either_way(series, index, late_ms));
		parts->mean_ms += late_ms / LATE_LEVEL_PARTS;
	}
	return true;
}

static bool is_alike(const struct parts *own)
{
	for (uint32_t i = 0; i < LATE_LEVEL_PARTS; i++)
		if (own->late_ms[i] > LATE_LEVEL_ALIKE * own->least_ms)
			return false;
	return true;
}

static bool is_far(const struct late_series *series, const struct parts *own, uint32_t index, const struct parts *other)
{
	if (other->most_ms * LATE_LEVEL_BEYOND <= own->least_ms)
		return true;
	return other->most_ms * LATE_LEVEL_PART <= own->least_ms && is_alike(own) &&
	       either_way(series, index, other->mean_ms) * LATE_LEVEL_MEAN <= own->mean_ms;
}

static bool is_level(const struct late_series *series, uint32_t index, uint32_t rows, const struct parts *own)
{
	uint32_t others = 0, mates = 0;

	for (uint32_t i = 0; i < series->count; i++) {
		struct parts other;
		if (i == index || series->pasts[i].open || !open_parts(series, i, rows, &other))
			continue;
		others++;
		if (is_far(series, own, i, &other))
			continue;
		if (other.mean_ms * 2 < own->mean_ms || ++mates * LATE_LEVEL_MATES > series->count)
			return false;
	}
	return others >= LATE_LEVEL_OTHERS;
}

bool late_level_is_proven(const struct late_series *series, uint32_t index, double row_ms)
{
	for (uint32_t rows = LATE_LEVEL_ROWS; rows <= LATE_LEVEL_ROWS_MAX; rows *= 2) {
		struct parts own;
		if (series->row < LATE_SERIES_FIRST + LATE_LEVEL_PARTS * rows)
			return false;
		if (open_parts(series, index, rows, &own) && own.least_ms >= LATE_LEVEL_SHARE * row_ms &&
		    is_level(series, index, rows, &own))
			return true;
	}
	return false;
}
