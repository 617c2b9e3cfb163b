/* SPDX-License-Identifier: MIT */
#include "analysis/late_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sorting.h"

#define UNIT_MS    0.5 /* of the histogram: below it bins are linear, above logarithmic */
#define SCORE_MOST 8.0 /* a score counts no more than this */
#define TAIL_SCORE 2.2 /* scores from here on are the tail, which may last longer than the rest */
#define DOUBT      2.0 /* standard errors of an autocorrelation */
#define LASTS      0.8 /* of noise, it is taken, is left a row later, until others have shown otherwise */

enum {
	MIDDLE = LATE_SERIES_BINS / 2,
	BINS_A_DOUBLING = 4,
	SEEN_MIN = 8,     /* scores, or a histogram says nothing */
	USUAL_MIN = 8,    /* rows before, or what is usual of a rank is not known */
	USUAL_LAG = 12,   /* rows: a lateness does not become usual while it is judged */
	BEFORE = 6,       /* rows before a window that it is held against */
	FIRST_ROWS = 3,   /* of the job warm up */
	APART_MOST = 200, /* rows that autocorrelation is told for */
};

static const int lags[LATE_SERIES_LAGS] = { 1, 2, 4, 8, 16, 32 };
static const uint32_t lengths[] = { 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96 };
enum { LENGTHS = sizeof(lengths) / sizeof(*lengths), LONGEST = 96, FORMS = 2 };

/* What the others did so far, together. */
struct others {
	double sizes[LATE_SERIES_BINS], seen, sum, squares;
	double pairs[LATE_SERIES_LAGS], products[LATE_SERIES_LAGS], tail_squares[LATE_SERIES_LAGS], tail_products[LATE_SERIES_LAGS];
};

/* Normal scores of latenesses. */
struct scale {
	double scores[LATE_SERIES_BINS], seen;
	double top_ms, top_score, slope; /* the largest that was seen, and how scores go on beyond it, by its logarithm */
};

/* How much of a row's noise is left so many rows later: at most, and at least. */
struct lasting {
	double most[APART_MOST], least[APART_MOST];
	double rows; /* that depend on each other */
};

/* A rank's newest rows. */
struct window {
	uint32_t length;
	double late_ms[LONGEST]; /* newest first, not more than twice the median */
	double median_ms, usual_ms;
};

bool late_series_has(struct late_series *series, uint32_t count)
{
	if (count <= series->count)
		return true;
	struct late_past *pasts = realloc(series->pasts, count * sizeof(*pasts));
	if (!pasts)
		return false;
	series->pasts = pasts;
	for (uint32_t i = series->count; i < count; i++) {
		pasts[i] = (struct late_past){ 0 };
		for (int k = 0; k < LATE_SERIES_KEPT; k++)
			pasts[i].late_ms[k] = pasts[i].scores[k] = NAN;
	}
	series->count = count;
	return true;
}

void late_series_begin(struct late_series *series)
{
	series->row++;
	for (uint32_t i = 0; i < series->count; i++)
		series->pasts[i].late_ms[series->row % LATE_SERIES_KEPT] = series->pasts[i].scores[series->row % LATE_SERIES_KEPT] = NAN;
}

void late_series_put(struct late_series *series, uint32_t index, double late_ms)
{
	series->pasts[index].late_ms[series->row % LATE_SERIES_KEPT] = (float)late_ms;
}

/* NAN: not known, or before the job. */
static double late_at(const struct late_series *series, uint32_t index, uint64_t back)
{
	return back < series->row && back < LATE_SERIES_KEPT ? series->pasts[index].late_ms[(series->row - back) % LATE_SERIES_KEPT] : NAN;
}

double late_series_late_ms(const struct late_series *series, uint32_t index, uint32_t back)
{
	double late_ms = late_at(series, index, back);

	return isnan(late_ms) ? 0 : late_ms;
}

static double cost_ms(double row_ms, uint32_t length)
{
	double least_ms = length < LATE_SERIES_LONG ? LATE_SERIES_COST_MS : fmin(LATE_SERIES_COST_MS, LATE_SERIES_LONG_SHARE * row_ms);

	return fmax(LATE_SERIES_SHARE * row_ms, least_ms);
}

bool late_series_is_late(const struct late_series *series, uint32_t index, double row_ms)
{
	return late_at(series, index, 0) >= cost_ms(row_ms, LATE_SERIES_LONG) / 2;
}

static double median_of(double *values, uint32_t count)
{
	sort_doubles(values, count);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* What the rank was late by before the last `skip` rows: within the tolerance. */
static double usual_ms(const struct late_series *series, uint32_t index, uint64_t skip, double row_ms)
{
	double values[LATE_SERIES_USUAL], tolerance_ms = LATE_SERIES_TOLERANCE * row_ms;
	uint32_t count = 0;

	for (uint64_t back = skip; back < series->row && back < LATE_SERIES_KEPT && count < LATE_SERIES_USUAL; back++) {
		double late_ms = late_at(series, index, back);
		if (!isnan(late_ms))
			values[count++] = late_ms;
	}
	if (count < USUAL_MIN)
		return tolerance_ms;
	return fmax(fmin(median_of(values, count), tolerance_ms), -tolerance_ms);
}

static int bin_of(double late_ms)
{
	int away = (int)(BINS_A_DOUBLING * log2(1 + fabs(late_ms) / UNIT_MS) + 0.5);

	away = away < MIDDLE - 1 ? away : MIDDLE - 1;
	return late_ms >= 0 ? MIDDLE + away : MIDDLE - away;
}

static double ms_of(int bin)
{
	double late_ms = UNIT_MS * (exp2(abs(bin - MIDDLE) / (double)BINS_A_DOUBLING) - 1);

	return bin < MIDDLE ? -late_ms : late_ms;
}

/* The normal distribution's quantile: Abramowitz and Stegun 26.2.23, made exact by two of Newton's steps. */
static double quantile(double share)
{
	double tail = fmin(share, 1 - share), t = sqrt(-2 * log(tail));
	double z = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));

	for (int i = 0; i < 2; i++)
		z += (0.5 * erfc(z / M_SQRT2) - tail) / (exp(-z * z / 2) / sqrt(2 * M_PI));
	return share < 0.5 ? -z : z;
}

/* The logarithm of the upper tail of the normal distribution. */
static double ln_above(double z)
{
	return z < 5 ? log(0.5 * erfc(z / M_SQRT2)) : -z * z / 2 - log(z * sqrt(2 * M_PI)) + log1p(-1 / (z * z));
}

/* The logarithm of the chance that a chi-square with so many degrees of freedom is as small as this. */
static double ln_chi_below(double degrees, double value)
{
	double half = degrees / 2, x = value / 2, term = 1, sum = 1;

	if (x >= half)
		return 0;
	for (int i = 1; i < 200 && term > 1e-12 * sum; i++) {
		term *= x / (half + i);
		sum += term;
	}
	return fmin(half * log(fmax(x, 1e-12)) - x - lgamma(half + 1) + log(sum), 0);
}

static void add_past(struct others *others, const struct late_past *past)
{
	for (int i = 0; i < LATE_SERIES_BINS; i++)
		others->sizes[i] += past->sizes[i];
	others->seen += past->seen;
	others->sum += past->sum;
	others->squares += past->squares;
	for (int i = 0; i < LATE_SERIES_LAGS; i++) {
		others->pairs[i] += past->pairs[i];
		others->products[i] += past->products[i];
		others->tail_squares[i] += past->tail_squares[i];
		others->tail_products[i] += past->tail_products[i];
	}
}

static bool is_as_late(const struct late_series *series, uint32_t index, const struct window *window)
{
	double sum_ms = 0;

	for (uint32_t back = 0; back < window->length; back++)
		sum_ms += late_series_late_ms(series, index, back);
	return sum_ms / window->length >= window->median_ms / 2;
}

/* All but the rank itself, those that are named, and a few that are as late as it: these may be at fault, too. */
static struct others gather_others(const struct late_series *series, uint32_t index, const struct window *window)
{
	struct others others = { 0 };
	uint32_t as_late = 0;

	for (uint32_t i = 0; i < series->count; i++)
		as_late += i != index && !series->pasts[i].open && is_as_late(series, i, window);
	bool few = as_late <= (series->count > LATE_SERIES_PART ? series->count / LATE_SERIES_PART : 1);
	for (uint32_t i = 0; i < series->count; i++)
		if (i != index && !series->pasts[i].open && !(few && is_as_late(series, i, window)))
			add_past(&others, &series->pasts[i]);
	return others;
}

/* By how much scores grow with the logarithm of the lateness, between the upper 1/60, 1/20 or 1/6 and the largest: the least of the three,
 * each of as many as depend on each other thrice. Where the noise is log-normal it is a constant, and 1 with a sigma of 1. */
static double tail_slope(const double *sizes, const struct scale *scale, int top, double rows)
{
	static const double parts[] = { 60, 20, 6 };
	double slope = 2, above = 0;
	bool found = false;

	for (int i = top; i >= MIDDLE; i--) {
		above += sizes[i];
		for (int k = 0; k < 3 && i < top; k++) {
			if (above * parts[k] < scale->seen || (above - sizes[i]) * parts[k] >= scale->seen || above < 3 * rows)
				continue;
			double rise = log((scale->top_ms + UNIT_MS) / (ms_of(i) + UNIT_MS));
			slope = fmin(slope, (scale->top_score - scale->scores[i]) / rise);
			found = true;
		}
	}
	return found ? fmax(slope, 0.3) : 1;
}

static struct scale make_scale(const double *sizes, double rows)
{
	struct scale scale = { 0 };
	double below = 0;
	int top = 0;

	for (int i = 0; i < LATE_SERIES_BINS; i++) {
		scale.seen += sizes[i];
		top = sizes[i] > 0 ? i : top;
	}
	double least = 0.5 / (fmax(scale.seen / rows, 1) + 1);
	for (int i = 0; i <= top; i++) {
		double share = (below + sizes[i] / 2 + 0.5) / (scale.seen + 1);
		below += sizes[i];
		scale.scores[i] = quantile(fmax(fmin(share, 1 - least), least));
	}
	scale.top_ms = ms_of(top);
	scale.top_score = scale.scores[top];
	scale.slope = tail_slope(sizes, &scale, top, rows);
	return scale;
}

static double score_of(const struct scale *scale, double late_ms)
{
	if (scale->seen < SEEN_MIN)
		return 0;
	if (late_ms <= scale->top_ms)
		return scale->scores[bin_of(late_ms)];
	/* Where even the largest is no lateness, what is beyond it counts from nothing on. */
	double top_ms = fmax(scale->top_ms, 0);
	return fmin(scale->top_score + scale->slope * log((late_ms + UNIT_MS) / (top_ms + UNIT_MS)), SCORE_MOST);
}

/* Between two lags logarithms are interpolated. */
static void spread_out(const double *at_lags, double *by_row)
{
	by_row[0] = 1;
	for (int row = 1; row < APART_MOST; row++) {
		int i = 0;
		while (i + 1 < LATE_SERIES_LAGS && lags[i + 1] <= row)
			i++;
		if (at_lags[i] <= 0) {
			by_row[row] = 0;
		} else if (i + 1 < LATE_SERIES_LAGS) {
			double part = log2((double)row / lags[i]);
			by_row[row] = exp(log(at_lags[i]) * (1 - part) + log(fmax(at_lags[i + 1], 1e-4)) * part);
		} else {
			by_row[row] = pow(at_lags[i], (double)row / lags[i]);
		}
	}
}

/* The larger of the autocorrelation of all scores and that of the tail: a noise of measurement hides that a tail lasts. */
static double correlation(const struct others *others, int i, double mean, double variance)
{
	double left = 0;

	if (others->pairs[i] > 0 && variance > 1e-6)
		left = fmax(fmin((others->products[i] / others->pairs[i] - mean * mean) / variance, 1), 0);
	if (others->tail_squares[i] > 0)
		left = fmax(left, fmin(others->tail_products[i] / others->tail_squares[i], 1));
	return left;
}

static struct lasting make_lasting(const struct others *others)
{
	struct lasting lasting = { .rows = 1 };
	double most[LATE_SERIES_LAGS] = { 0 }, least[LATE_SERIES_LAGS] = { 0 }, bound = 1, before = 1;
	double mean = others->seen > 0 ? others->sum / others->seen : 0;
	double variance = others->seen > 0 ? others->squares / others->seen - mean * mean : 0;

	for (int i = 0; i < LATE_SERIES_LAGS; i++) {
		double left = correlation(others, i, mean, variance), taken = pow(LASTS, lags[i]);
		double doubt = others->pairs[i] > 0 ? DOUBT / sqrt(others->pairs[i] / lasting.rows) : 1;
		least[i] = before = fmax(fmin(left, before) - doubt, 0);
		bound = fmin(bound, others->pairs[i] > 0 ? fmax(left, fmin(left + doubt, taken)) : taken);
		most[i] = bound;
		lasting.rows += 2 * lags[i] * bound;
		if (left < doubt && others->pairs[i] > 100)
			break; /* it is over, by what was seen */
	}
	spread_out(most, lasting.most);
	spread_out(least, lasting.least);
	return lasting;
}

/* Of the mean of so many rows, each with a variance of 1. */
static double variance_of_mean(const double *left, uint32_t length)
{
	double sum = length;

	for (uint32_t i = 1; i < length; i++)
		sum += 2.0 * (length - i) * left[i];
	return sum / length / length;
}

/* Of the difference between that mean and the mean of the rows before. */
static double variance_of_change(const double *left, uint32_t length, uint32_t before)
{
	double cross = 0;

	for (uint32_t i = 0; i < length; i++)
		for (uint32_t k = 1; k <= before; k++)
			cross += left[i + k];
	return variance_of_mean(left, length) + variance_of_mean(left, before) - 2 * cross / length / before;
}

/* A statistic of Student's with so many degrees of freedom, as the normal one that is as unlikely. */
static double as_normal(double t, double degrees)
{
	t = fmax(t, 0);
	return sqrt(degrees * log1p(t * t / degrees)) * (8 * degrees + 1) / (8 * degrees + 3);
}

/* All of it must be known, and late: half of it by what a lateness must cost, three quarters by half of that. */
static bool open_window(const struct late_series *series, uint32_t index, uint32_t length, double row_ms, struct window *window)
{
	double sorted[LONGEST], limit_ms = cost_ms(row_ms, length);
	uint32_t late = 0;

	*window = (struct window){ .length = length };
	for (uint32_t back = 0; back < length; back++) {
		double late_ms = late_at(series, index, back);
		if (isnan(late_ms))
			return false;
		window->late_ms[back] = sorted[back] = late_ms;
		late += late_ms >= limit_ms / 2;
	}
	window->median_ms = median_of(sorted, length);
	if (window->median_ms < limit_ms || late < LATE_SERIES_LATE_MIN || sorted[(length - 1) / 4] < limit_ms / 2)
		return false;
	for (uint32_t back = 0; back < length; back++)
		window->late_ms[back] = fmin(window->late_ms[back], 2 * window->median_ms);
	window->usual_ms = usual_ms(series, index, length, row_ms);
	return true;
}

static double mean_score(const struct window *window, const struct scale *scale, double usual)
{
	double sum = 0;

	for (uint32_t i = 0; i < window->length; i++)
		sum += score_of(scale, window->late_ms[i] - usual);
	return sum / window->length;
}

/* The mean score of the rows before the window, if so many are known: not below 0, since a rank that was early before is not late now. */
static bool score_before(const struct late_series *series, uint32_t index, const struct window *window, uint32_t rows, const struct scale *scale, double *score)
{
	double sum = 0;

	for (uint32_t i = 0; i < rows; i++) {
		double late_ms = late_at(series, index, window->length + i);
		if (isnan(late_ms))
			return false;
		sum += score_of(scale, late_ms - window->usual_ms);
	}
	*score = fmax(sum / rows, 0);
	return true;
}

/* How likely is it that noise changes as little from row to row as this window does? Without its newest row, whose choice made it late. */
static double ln_steady(const struct window *window, const struct scale *scale, const struct lasting *lasting)
{
	double usual = fmax(window->usual_ms, 0), changes = 0, before = score_of(scale, window->late_ms[0] - usual);

	if (window->length <= 2)
		return 0;
	for (uint32_t i = 1; i + 1 < window->length; i++) {
		double score = score_of(scale, window->late_ms[i] - usual);
		changes += (score - before) * (score - before);
		before = score;
	}
	/* Successive differences depend on each other: two thirds as many count (von Neumann 1941). */
	return ln_chi_below((window->length - 2) * 2 / 3.0, changes * 2 / 3 / (2 * (1 - lasting->most[1]) + 1e-6));
}

/* The logarithm of how likely chance makes the window. */
static double ln_chance(const struct late_series *series, uint32_t index, const struct window *window)
{
	struct others others = gather_others(series, index, window);
	if (others.seen < SEEN_MIN)
		return 0;
	struct lasting lasting = make_lasting(&others);
	struct scale scale = make_scale(others.sizes, lasting.rows);
	uint32_t length = window->length, before = length < BEFORE ? length : BEFORE;
	double above = mean_score(window, &scale, fmax(window->usual_ms, 0)), changed = 0, past;

	if (score_before(series, index, window, before, &scale, &past)) {
		double variance = fmax(variance_of_change(lasting.most, length, before), variance_of_change(lasting.least, length, before));
		changed = (mean_score(window, &scale, window->usual_ms) - past) / sqrt(fmax(variance, 1e-3)) / LATE_SERIES_MARGIN;
		changed = as_normal(changed, others.seen / fmin(lasting.rows, length + BEFORE));
	}
	above = as_normal(above / sqrt(variance_of_mean(lasting.most, length)) / LATE_SERIES_MARGIN, others.seen / lasting.rows);
	double ln_level = ln_above(fmax(above, changed));
	if (ln_above(changed) > log(LATE_SERIES_ALPHA))
		return ln_level;
	/* Mean and changes of normal noise are independent: Fisher's method for two. */
	double both = ln_level + fmax(ln_steady(window, &scale, &lasting), ln_level);
	return fmin(ln_level, both + log(1 - both));
}

bool late_series_is_proven(const struct late_series *series, uint32_t index, double row_ms)
{
	double tests = (double)series->count * (double)series->row * LENGTHS * FORMS;

	if (series->row < LATE_SERIES_ROWS_MIN)
		return false;
	for (int i = 0; i < LENGTHS && lengths[i] < series->row; i++) {
		struct window window;
		if (open_window(series, index, lengths[i], row_ms, &window) && ln_chance(series, index, &window) <= log(LATE_SERIES_ALPHA / tests))
			return true;
	}
	return false;
}

static void note_score(struct late_past *past, uint64_t row, double score)
{
	past->seen++;
	past->sum += score;
	past->squares += score * score;
	for (int i = 0; i < LATE_SERIES_LAGS; i++) {
		double earlier = row > (uint64_t)lags[i] ? past->scores[(row - lags[i]) % LATE_SERIES_KEPT] : NAN;
		if (isnan(earlier))
			continue;
		past->pairs[i]++;
		past->products[i] += score * earlier;
		if (earlier > TAIL_SCORE) {
			past->tail_squares[i] += earlier * earlier;
			past->tail_products[i] += score * earlier;
		}
	}
}

void late_series_end(struct late_series *series, double row_ms)
{
	struct others all = { 0 };

	for (uint32_t i = 0; i < series->count; i++)
		if (!series->pasts[i].open)
			add_past(&all, &series->pasts[i]);
	struct scale scale = make_scale(all.sizes, 1);
	for (uint32_t i = 0; i < series->count; i++) {
		struct late_past *past = &series->pasts[i];
		double late_ms = late_at(series, i, 0);
		if (isnan(late_ms) || past->open)
			continue;
		double usual = series->row > USUAL_LAG + USUAL_MIN ? usual_ms(series, i, USUAL_LAG, row_ms) : 0;
		double score = score_of(&scale, late_ms - usual);
		past->sizes[bin_of(late_ms - usual)]++;
		if (series->row <= FIRST_ROWS)
			continue;
		past->scores[series->row % LATE_SERIES_KEPT] = (float)score;
		note_score(past, series->row, score);
	}
}

void late_series_open(struct late_series *series, uint32_t index, bool open)
{
	series->pasts[index].open = open;
}

void late_series_forget(struct late_series *series)
{
	for (uint32_t i = 0; i < series->count; i++) {
		bool open = series->pasts[i].open;
		series->pasts[i] = (struct late_past){ .open = open };
		for (int k = 0; k < LATE_SERIES_KEPT; k++)
			series->pasts[i].late_ms[k] = series->pasts[i].scores[k] = NAN;
	}
	series->row = 0;
}

void late_series_free(struct late_series *series)
{
	free(series->pasts);
	*series = (struct late_series){ 0 };
}
