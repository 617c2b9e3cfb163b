/* SPDX-License-Identifier: MIT */
#include "analysis/numbers/late_series.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/numbers/sorting.h"

#define SMOOTH_MS 0.5 /* less than this is no change */

/* A rank's newest rows. */
struct window {
	uint32_t length;
	double mean_ms, median_ms, low_ms, high_ms; /* low, high: quartiles */
	uint32_t late;                              /* rows in which it was late by half of the median */
};

static void empty(struct late_past *past, bool open, uint32_t place)
{
	*past = (struct late_past){ .open = open, .place = place };
	for (int i = 0; i < LATE_SERIES_KEPT; i++)
		past->late_ms[i] = NAN;
}

bool late_series_has(struct late_series *series, uint32_t count)
{
	if (count <= series->count)
		return true;
	struct late_past *pasts = realloc(series->pasts, count * sizeof(*pasts));
	if (!pasts)
		return false;
	series->pasts = pasts;
	for (; series->count < count; series->count++)
		empty(&pasts[series->count], false, 0);
	return true;
}

void late_series_place(struct late_series *series, uint32_t index, uint32_t place)
{
	series->pasts[index].place = place;
}

void late_series_begin(struct late_series *series)
{
	series->row++;
	for (uint32_t i = 0; i < series->count; i++)
		series->pasts[i].late_ms[series->row % LATE_SERIES_KEPT] = NAN;
}

void late_series_put(struct late_series *series, uint32_t index, double late_ms)
{
	series->pasts[index].late_ms[series->row % LATE_SERIES_KEPT] = (float)late_ms;
}

/* NAN: not known, or before the job. */
static double late_at(const struct late_series *series, uint32_t index, uint64_t back)
{
	if (back >= series->row || back >= LATE_SERIES_KEPT)
		return NAN;
	return series->pasts[index].late_ms[(series->row - back) % LATE_SERIES_KEPT];
}

double late_series_late_ms(const struct late_series *series, uint32_t index, uint32_t back)
{
	double late_ms = late_at(series, index, back);

	return isnan(late_ms) ? 0 : late_ms;
}

static double cost_ms(double row_ms)
{
	return fmax(LATE_SERIES_SHARE * row_ms, LATE_SERIES_COST_MS);
}

bool late_series_is_late(const struct late_series *series, uint32_t index, double row_ms)
{
	return late_at(series, index, 0) * 2 >= cost_ms(row_ms);
}

/* All of its rows must be known. */
static bool open_window(const struct late_series *series, uint32_t index, uint32_t length, struct window *window)
{
	double sorted[LATE_SERIES_ROWS_MAX];

	for (uint32_t back = 0; back < length; back++) {
		sorted[back] = late_at(series, index, back);
		if (isnan(sorted[back]))
			return false;
	}
	sort_doubles(sorted, length);
	*window = (struct window){ .length = length, .median_ms = sorted[length / 2] };
	window->low_ms = sorted[(length - 1) / 4];
	window->high_ms = sorted[length - 1 - (length - 1) / 4];
	for (uint32_t i = 0; i < length; i++) {
		window->mean_ms += sorted[i] / length;
		window->late += sorted[i] * 2 >= window->median_ms;
	}
	return true;
}

static bool is_dear(const struct window *window, double row_ms)
{
	return window->median_ms >= cost_ms(row_ms) && window->mean_ms * window->length >= LATE_SERIES_COST * row_ms;
}

static bool is_steady(const struct window *window)
{
	return window->late >= window->length - window->length / LATE_SERIES_OUTLIERS &&
	       window->low_ms >= LATE_SERIES_STEADY * window->median_ms &&
	       window->high_ms * LATE_SERIES_STEADY <= window->median_ms;
}

/* Before, on average, and in each row. */
static bool was_calm_before(const struct late_series *series, uint32_t index, const struct window *window)
{
	uint32_t known = 0;
	double sum_ms = 0;

	for (uint32_t i = 0; i < LATE_SERIES_BEFORE; i++) {
		double late_ms = late_at(series, index, window->length + i);
		if (isnan(late_ms))
			continue;
		if (late_ms * LATE_SERIES_CALM > window->median_ms)
			return false;
		known++;
		sum_ms += late_ms;
	}
	return known >= LATE_SERIES_BEFORE_MIN && fabs(sum_ms) * LATE_SERIES_CALM_MEAN <= window->mean_ms * known;
}

/* From one row to the next, on average over the newest rows; NAN: not known. */
static double change_ms(const struct late_series *series, uint32_t index, uint32_t rows)
{
	double sum_ms = 0;
	uint32_t known = 0;

	for (uint32_t back = 0; back + 1 < rows; back++) {
		double change = fabs(late_at(series, index, back) - late_at(series, index, back + 1));
		if (isnan(change))
			continue;
		sum_ms += change;
		known++;
	}
	return known ? sum_ms / known : NAN;
}

/* What a fault costs, it costs alike in each row. Noise that lasts changes by more, the larger it is. */
static bool is_as_smooth_as_others(const struct late_series *series, uint32_t index, const struct window *window)
{
	double sum_ms = 0;
	uint32_t known = 0;

	for (uint32_t i = 0; i < series->count; i++) {
		double change = change_ms(series, i, window->length + LATE_SERIES_BEFORE);
		if (i == index || series->pasts[i].open || isnan(change))
			continue;
		sum_ms += change;
		known++;
	}
	return known && change_ms(series, index, window->length) <= LATE_SERIES_ROUGH * sum_ms / known + SMOOTH_MS;
}

/* A rank that is named makes others wait that work with it, and these come a little late elsewhere. */
static bool is_much_beside_named(const struct late_series *series, const struct window *window)
{
	for (uint32_t i = 0; i < series->count; i++) {
		double sum_ms = 0;
		if (!series->pasts[i].open)
			continue;
		for (uint32_t back = 0; back < window->length; back++)
			sum_ms += late_series_late_ms(series, i, back);
		if (window->mean_ms * window->length * LATE_SERIES_BESIDE < sum_ms)
			return false;
	}
	return true;
}

/* By half of what the window shows of another rank, on average over it. */
static bool is_late_with(const struct late_series *series, uint32_t index, const struct window *window)
{
	double sum_ms = 0;

	for (uint32_t back = 0; back < window->length; back++)
		sum_ms += late_series_late_ms(series, index, back);
	return sum_ms * LATE_SERIES_BEYOND >= window->median_ms * window->length;
}

static bool is_of_same_place(const struct late_series *series, uint32_t one, uint32_t other)
{
	return series->pasts[one].place && series->pasts[one].place == series->pasts[other].place;
}

/* In any row that is kept, from so many back on, but the first ones of the job, which warm up. */
static bool was_as_late(const struct late_series *series, uint32_t index, const struct window *window, uint32_t from)
{
	uint64_t first = series->pasts[index].explained;

	first = first > LATE_SERIES_FIRST ? first : LATE_SERIES_FIRST;
	for (uint64_t back = from; first + back < series->row && back < LATE_SERIES_KEPT; back++)
		if (late_at(series, index, back) * LATE_SERIES_BEYOND > window->median_ms)
			return true;
	return false;
}

/* Noise that lasts begins and stays as a fault does; but where there is such noise, it has hit others, too. */
static bool was_anybody_as_late(const struct late_series *series, uint32_t index, const struct window *window)
{
	for (uint32_t i = 0; i < series->count; i++) {
		if (i == index || series->pasts[i].open)
			continue;
		bool together = is_of_same_place(series, index, i) && is_late_with(series, i, window);
		if (was_as_late(series, i, window, together ? window->length : 0))
			return true;
	}
	return false;
}

bool late_series_is_proven(const struct late_series *series, uint32_t index, double row_ms)
{
	for (uint32_t length = LATE_SERIES_ROWS_MIN; length <= LATE_SERIES_ROWS_MAX; length++) {
		struct window window;
		if (!open_window(series, index, length, &window))
			return false;
		if (is_dear(&window, row_ms) && is_steady(&window) && was_calm_before(series, index, &window) &&
		    is_as_smooth_as_others(series, index, &window) && is_much_beside_named(series, &window) &&
		    !was_anybody_as_late(series, index, &window))
			return true;
	}
	return false;
}

void late_series_open(struct late_series *series, uint32_t index, bool open)
{
	series->pasts[index].open = open;
	if (open)
		series->pasts[index].explained = series->row;
}

void late_series_forget(struct late_series *series)
{
	for (uint32_t i = 0; i < series->count; i++)
		empty(&series->pasts[i], series->pasts[i].open, series->pasts[i].place);
	series->row = 0;
}

void late_series_free(struct late_series *series)
{
	free(series->pasts);
	*series = (struct late_series){ 0 };
}
