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
	double older_ms, newer_ms;                  /* means of its halves */
	uint32_t late;                              /* rows in which it was late by half of the median */
};

static void empty(struct late_past *past, bool open, uint32_t place)
{
	*past = (struct late_past){ .open = open, .place = place, .alike = 1 };
	for (int i = 0; i < LATE_SERIES_KEPT; i++)
		past->longer_ms[i] = past->less_ms[i] = NAN;
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

static bool has_place(struct late_series *series, uint32_t place)
{
	if (place < series->places)
		return true;
	uint32_t *placed = realloc(series->placed, (place + 1) * sizeof(*placed));
	if (!placed)
		return false;
	series->placed = placed;
	for (; series->places <= place; series->places++)
		placed[series->places] = 0;
	return true;
}

void late_series_place(struct late_series *series, uint32_t index, uint32_t place)
{
	struct late_past *past = &series->pasts[index];

	if (past->place == place)
		return;
	if (past->place)
		series->placed[past->place]--;
	past->place = has_place(series, place) ? place : 0;
	if (past->place)
		series->placed[past->place]++;
}

void late_series_begin(struct late_series *series)
{
	series->row++;
	for (uint32_t i = 0; i < series->count; i++) {
		struct late_past *past = &series->pasts[i];
		past->longer_ms[series->row % LATE_SERIES_KEPT] = past->less_ms[series->row % LATE_SERIES_KEPT] = NAN;
	}
}

/* NAN: not known, or before the job. */
static double late_at(const struct late_series *series, uint32_t index, uint64_t back)
{
	if (back >= series->row || back >= LATE_SERIES_KEPT)
		return NAN;
	const struct late_past *past = &series->pasts[index];
	float longer_ms = past->longer_ms[(series->row - back) % LATE_SERIES_KEPT];
	return isnan(longer_ms) ? NAN : fminf(longer_ms, past->less_ms[(series->row - back) % LATE_SERIES_KEPT]);
}

/* A single row that is far from all others, as one in which the job evaluates, would hide what all others show. */
static double without_outliers(const struct late_noise *noise, double late_ms)
{
	if (noise->rows < LATE_SERIES_OUTLYING_ROWS)
		return late_ms;
	double most_ms = LATE_SERIES_OUTLYING * sqrt(noise->squares / noise->rows);
	return fmax(fmin(late_ms, most_ms), -most_ms);
}

/* further_ms: two rows back. */
static void add_noise(struct late_noise *noise, double now_ms, double before_ms, double further_ms)
{
	double left = 1 - 1.0 / LATE_SERIES_MEMORY;

	now_ms = without_outliers(noise, now_ms);
	before_ms = without_outliers(noise, before_ms);
	noise->rows = noise->rows * left + 1;
	noise->sum_ms = noise->sum_ms * left + (now_ms + before_ms) / 2;
	noise->squares = noise->squares * left + (now_ms * now_ms + before_ms * before_ms) / 2;
	noise->products = noise->products * left + now_ms * before_ms;
	noise->further = noise->further * left + now_ms * without_outliers(noise, further_ms);
}

/* Of two that are compared with each other one is early by what the other one is late by: that is no noise of its own. */
static double of_its_own(double late_ms, uint32_t alike)
{
	return alike == 2 && late_ms < 0 ? 0 : late_ms;
}

void late_series_put(struct late_series *series, uint32_t index, double longer_ms, double less_ms,
		     uint32_t alike)
{
	struct late_past *past = &series->pasts[index];
	double late_ms = fmin(longer_ms, less_ms), before_ms = late_at(series, index, 1),
	       further_ms = late_at(series, index, 2);

	past->longer_ms[series->row % LATE_SERIES_KEPT] = (float)longer_ms;
	past->less_ms[series->row % LATE_SERIES_KEPT] = (float)less_ms;
	past->alike = alike;
	if (series->row > LATE_SERIES_FIRST + 2 && !isnan(late_ms) && !isnan(before_ms) && !isnan(further_ms))
		add_noise(&past->noise, of_its_own(late_ms, alike), of_its_own(before_ms, alike),
			  of_its_own(further_ms, alike));
}

/* times: 1 or -1. */
static void add_to_sums(struct late_noise_sums *sums, const struct late_noise *noise, double times)
{
	if (noise->rows <= 0)
		return;
	double level = noise->sum_ms * noise->sum_ms / noise->rows;
	sums->rows += times * noise->rows;
	sums->squares += times * (noise->squares - level);
	sums->products += times * (noise->products - level);
	sums->further += times * (noise->further - level);
}

void late_series_end(struct late_series *series)
{
	series->noise = (struct late_noise_sums){ 0 };
	for (uint32_t i = 0; i < series->count; i++)
		if (!series->pasts[i].open)
			add_to_sums(&series->noise, &series->pasts[i].noise, 1);
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
	double sorted[LATE_SERIES_ROWS_LONG];
	uint32_t half = length / 2;

	*window = (struct window){ .length = length };
	for (uint32_t back = 0; back < length; back++) {
		sorted[back] = late_at(series, index, back);
		if (isnan(sorted[back]))
			return false;
		window->newer_ms += back < half ? sorted[back] / half : 0;
		window->older_ms += back >= length - half ? sorted[back] / half : 0;
	}
	sort_doubles(sorted, length);
	window->median_ms = sorted[length / 2];
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

/* By about as much in each row, and by no more in the newer ones: noise that lasts grows before it goes. */
static bool is_steady(const struct window *window)
{
	return window->late >= window->length - window->length / LATE_SERIES_OUTLIERS &&
	       window->low_ms >= LATE_SERIES_STEADY * window->median_ms &&
	       window->high_ms * LATE_SERIES_STEADY <= window->median_ms &&
	       window->newer_ms * LATE_SERIES_STEADY <= window->older_ms;
}

/* Each rank's average apart. */
static double left_later(const struct late_series *series, uint32_t index, double *further)
{
	struct late_noise_sums others = series->noise;

	if (!series->pasts[index].open)
		add_to_sums(&others, &series->pasts[index].noise, -1);
	*further = 1;
	if (others.rows < LATE_SERIES_PAIRS)
		return 1;
	*further = others.squares > 0 ? others.further / others.squares : 0;
	return others.squares > 0 ? fmax(others.products / others.squares, 0) : 0;
}

/* By its autocorrelations, which are added up as if they went on as from the first to the second: where only a part of
 * the noise lasts, as where each row is a new draw as well, the first is small and the second is not much smaller. */
double late_series_noise_rows(const struct late_series *series, uint32_t index)
{
	double further, left = left_later(series, index, &further);

	if (left >= 1)
		return LATE_SERIES_KEPT;
	double goes_on = left > 0 ? fmin(fmax(further / left, left), LATE_SERIES_GOES_ON) : 0;
	return 1 + 2 * left / (1 - goes_on);
}

/* Where noise does not last, a single late row says nothing about many in a row. */
static bool does_noise_last(const struct late_series *series, uint32_t index)
{
	double further;

	return left_later(series, index, &further) > LATE_SERIES_LASTS;
}

/* In the row before which `known` ones were calm, or not. Noise that lasts grows in the rows just before; where it does
 * not last the rows before those may have been late by nearly what makes a row late. */
static bool is_calm(double late_ms, const struct window *window, uint32_t known, bool lasts)
{
	bool near = known < LATE_SERIES_BEFORE / 2;

	return late_ms * (lasts || near ? LATE_SERIES_CALM : LATE_SERIES_CALM_FAR) <= window->median_ms;
}

/* Before, on average, and in each row; where noise does not last one row may have been an exception. */
static bool was_calm_before(const struct late_series *series, uint32_t index, const struct window *window, bool lasts)
{
	uint32_t known = 0, late = 0;
	double sum_ms = 0;

	for (uint32_t back = window->length; known < LATE_SERIES_BEFORE && back < LATE_SERIES_KEPT; back++) {
		double late_ms = late_at(series, index, back);
		if (isnan(late_ms))
			continue;
		late += !is_calm(late_ms, window, known, lasts);
		known++;
		sum_ms += late_ms;
	}
	return known >= LATE_SERIES_BEFORE_MIN && late <= (lasts ? 0 : known / LATE_SERIES_OUTLIERS) &&
	       fabs(sum_ms) * LATE_SERIES_CALM_MEAN <= window->mean_ms * known;
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

/* In the rows that end so many back; NAN: not known of all. */
static double run_ms(const struct late_series *series, uint32_t index, uint64_t back, uint32_t rows)
{
	double sum_ms = 0;

	for (uint32_t i = 0; i < rows; i++)
		sum_ms += late_at(series, index, back + i);
	return sum_ms / rows;
}

/* In any row that is kept, from so many back on, but the first ones of the job, which warm up; where noise does not
 * last, over a run of them. */
static bool was_as_late(const struct late_series *series, uint32_t index, const struct window *window, uint32_t from,
			bool lasts)
{
	uint64_t first = series->pasts[index].explained;

	first = first > LATE_SERIES_FIRST ? first : LATE_SERIES_FIRST;
	for (uint64_t back = from; first + back < series->row && back < LATE_SERIES_KEPT; back++)
		if (run_ms(series, index, back, lasts ? 1 : LATE_SERIES_RUN) * LATE_SERIES_BEYOND > window->median_ms)
			return true;
	return false;
}

/* Noise that lasts begins and stays as a fault does; but where there is such noise, it has hit others, too. */
static bool was_anybody_as_late(const struct late_series *series, uint32_t index, const struct window *window,
				bool lasts)
{
	uint32_t mates = 0, known = 1;

	for (uint32_t i = 0; i < series->count; i++) {
		if (i == index || series->pasts[i].open)
			continue;
		bool together = is_late_with(series, i, window);
		mates += together && !is_of_same_place(series, index, i);
		known += !isnan(late_at(series, i, 0));
		if (was_as_late(series, i, window, together ? window->length : 0, lasts))
			return true;
	}
	return mates * LATE_SERIES_MATES > known;
}

static bool is_proven_over(const struct late_series *series, uint32_t index, const struct window *window, double row_ms)
{
	if (!is_dear(window, row_ms) || !is_steady(window))
		return false;
	bool lasts = does_noise_last(series, index);

	return was_calm_before(series, index, window, lasts) && is_as_smooth_as_others(series, index, window) &&
	       is_much_beside_named(series, window) && !was_anybody_as_late(series, index, window, lasts);
}

bool late_series_is_proven(const struct late_series *series, uint32_t index, double row_ms)
{
	uint32_t most = does_noise_last(series, index) ? LATE_SERIES_ROWS_MAX : LATE_SERIES_ROWS_LONG;
	struct window window;

	for (uint32_t length = LATE_SERIES_ROWS_MIN; length <= most; length++) {
		if (!open_window(series, index, length, &window))
			return false;
		if (is_proven_over(series, index, &window, row_ms))
			return true;
	}
	return false;
}

void late_series_open(struct late_series *series, uint32_t index, bool open)
{
	struct late_past *past = &series->pasts[index];

	if (past->open != open)
		add_to_sums(&series->noise, &past->noise, open ? -1 : 1);
	past->open = open;
	if (open)
		past->explained = series->row;
}

static void scale_past(struct late_past *past, double times)
{
	for (uint32_t i = 0; i < LATE_SERIES_KEPT; i++) {
		past->longer_ms[i] *= (float)times;
		past->less_ms[i] *= (float)times;
	}
	past->noise.sum_ms *= times;
	past->noise.squares *= times * times;
	past->noise.products *= times * times;
	past->noise.further *= times * times;
}

void late_series_scale(struct late_series *series, double times)
{
	for (uint32_t i = 0; i < series->count; i++)
		scale_past(&series->pasts[i], times);
	series->noise.squares *= times * times;
	series->noise.products *= times * times;
	series->noise.further *= times * times;
}

void late_series_forget(struct late_series *series)
{
	for (uint32_t i = 0; i < series->count; i++)
		empty(&series->pasts[i], series->pasts[i].open, series->pasts[i].place);
	series->row = 0;
	series->noise = (struct late_noise_sums){ 0 };
}

void late_series_free(struct late_series *series)
{
	free(series->pasts);
	free(series->placed);
	*series = (struct late_series){ 0 };
}
