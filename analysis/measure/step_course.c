/* SPDX-License-Identifier: MIT */
#include "analysis/measure/step_course.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model.h"
#include "analysis/numbers/sorting.h"

/* One step, on average over its ranks. */
struct step {
	uint64_t number;
	double parts_ms[ANALYSIS_PARTS], whole_ms;
	uint32_t outside; /* the least of any rank */
};

struct series {
	struct step *steps; /* ascending */
	size_t count;
};

/* Sorts them; 0 of none. */
static double median(double *values, size_t count)
{
	sort_doubles(values, count);
	return count ? values[count / 2] : 0;
}

/* False: nobody's time is known in it. */
static bool read_column(const struct column *column, struct step *step)
{
	uint32_t ranks = 0;

	*step = (struct step){ .number = column->step, .outside = UINT32_MAX };
	for (uint32_t i = 0; i < column->rank_count; i++) {
		const struct cell *cell = &column->cells[i];
		const double parts[ANALYSIS_PARTS] = { [ANALYSIS_OWN] = cell->own_ms,
						       [ANALYSIS_WAIT] = cell->wait_ms,
						       [ANALYSIS_TRANSFER] = cell->transfer_ms,
						       [ANALYSIS_UNSEEN] = cell->unseen_ms };
		double whole =
		    parts[ANALYSIS_OWN] + parts[ANALYSIS_WAIT] + parts[ANALYSIS_TRANSFER] + parts[ANALYSIS_UNSEEN];

		if (whole <= 0)
			continue;
		for (int part = 0; part < ANALYSIS_PARTS; part++)
			step->parts_ms[part] += parts[part];
		step->whole_ms += whole;
		step->outside = cell->outside < step->outside ? cell->outside : step->outside;
		ranks++;
	}
	for (int part = 0; ranks && part < ANALYSIS_PARTS; part++)
		step->parts_ms[part] /= ranks;
	if (ranks)
		step->whole_ms /= ranks;
	return ranks > 0;
}

/* The newest may not be over. Older columns of a long job hold several steps. */
static void read_series(const struct cells *cells, struct series *series)
{
	series->steps = calloc(cells->count ? cells->count : 1, sizeof(*series->steps));
	for (size_t i = 0; series->steps && i + 1 < cells->count; i++) {
		const struct column *column = &cells->columns[i];

		if (column->step && column->step == column->last_step &&
		    read_column(column, &series->steps[series->count]))
			series->count++;
	}
}

/* Over the steps, of what `of` says of one; 0 without memory for it. */
static double median_of(const struct series *series, double (*of)(const struct step *step, const void *argument),
			const void *argument)
{
	double *values = calloc(series->count + 1, sizeof(*values)), found = 0;

	for (size_t i = 0; values && i < series->count; i++)
		values[i] = of(&series->steps[i], argument);
	if (values)
		found = median(values, series->count);
	free(values);
	return found;
}

static double whole_of(const struct step *step, const void *argument)
{
	(void)argument;
	return step->whole_ms;
}

static double part_of(const struct step *step, const void *argument)
{
	return step->parts_ms[*(const enum analysis_part *)argument];
}

static double outside_of(const struct step *step, const void *argument)
{
	(void)argument;
	return step->outside;
}

/* Where three quarters of the steps are not near each other, none stands out. */
static bool tell_spread(const struct series *series, struct analysis_step_course *told)
{
	double *values = calloc(series->count, sizeof(*values));

	for (size_t i = 0; values && i < series->count; i++)
		values[i] = series->steps[i].whole_ms;
	if (values) {
		told->usual_ms = median(values, series->count);
		told->quarter_ms[0] = values[series->count / 4];
		told->quarter_ms[1] = values[series->count * 3 / 4];
	}
	free(values);
	told->uneven = told->quarter_ms[1] > STEP_COURSE_EVEN * told->usual_ms;
	return told->usual_ms > 0;
}

/* From where on the durations stay near the usual; their number: they do not. */
static uint32_t settled_at(const double *durations, uint32_t count, double usual)
{
	uint32_t row = 0;

	for (uint32_t i = 0; i < count; i++) {
		row = durations[i] <= STEP_COURSE_SETTLED * usual ? row + 1 : 0;
		if (row == STEP_COURSE_SETTLED_STEPS)
			return i + 1 - row;
	}
	return count;
}

/* From the start of a step to that of the next: what a person sees in a log. */
static void tell_first(const struct pace *pace, double usual_ms, struct analysis_step_course *told)
{
	double durations[PACE_FIRST];
	uint32_t count = 0;

	while (count < PACE_FIRST && pace->firsts_ns[count]) {
		durations[count] = (double)pace->firsts_ns[count] / 1e6;
		count++;
	}
	uint32_t settled = settled_at(durations, count, usual_ms);
	if (settled == count)
		return;
	told->first = pace->first_step;
	told->first_count = settled;
	memcpy(told->first_ms, durations, settled * sizeof(*durations));
}

static bool is_long(const struct step *step, double usual_ms)
{
	return step->whole_ms > STEP_COURSE_LONG * usual_ms && step->whole_ms - usual_ms > STEP_COURSE_LONG_MS;
}

static void keep_long(struct analysis_long_steps *told, uint64_t number)
{
	if (told->kept == ANALYSIS_LONG_STEPS)
		memmove(told->steps, told->steps + 1, --told->kept * sizeof(*told->steps));
	told->steps[told->kept++] = number;
	told->count++;
}

static uint64_t distance_of(const struct analysis_long_steps *told)
{
	uint64_t every = told->kept >= 3 ? told->steps[1] - told->steps[0] : 0;

	for (uint32_t i = 2; i < told->kept; i++)
		if (told->steps[i] - told->steps[i - 1] != every)
			return 0;
	return every;
}

/* What long steps took beyond the usual of each part. */
static void tell_parts(const struct series *all, const struct series *longs, double usual_ms,
		       struct analysis_long_steps *told)
{
	double beyond_ms[ANALYSIS_PARTS] = { 0 }, sum_ms = 0, all_ms = 0;

	for (enum analysis_part part = 0; part < ANALYSIS_PARTS; part++) {
		double usual = median_of(all, part_of, &part);

		for (size_t i = 0; i < longs->count; i++)
			beyond_ms[part] += longs->steps[i].parts_ms[part] - usual;
	}
	for (size_t i = 0; i < longs->count; i++)
		sum_ms += longs->steps[i].whole_ms - usual_ms;
	for (size_t i = 0; i < all->count; i++)
		all_ms += all->steps[i].whole_ms;
	told->share = sum_ms / all_ms;
	for (int part = 0; part < ANALYSIS_PARTS; part++)
		told->parts[part] = fmin(fmax(beyond_ms[part] / sum_ms, 0), 1);
}

static void tell_group(const struct series *all, const struct series *longs, double usual_ms, double usual_outside,
		       struct analysis_long_steps *told)
{
	double least = UINT32_MAX;

	for (size_t i = 0; i < longs->count; i++) {
		keep_long(told, longs->steps[i].number);
		least = fmin(least, longs->steps[i].outside - usual_outside);
	}
	if (!longs->count)
		return;
	told->every = distance_of(told);
	told->ms = median_of(longs, whole_of, NULL);
	told->operations = (uint32_t)fmax(least, 0);
	tell_parts(all, longs, usual_ms, told);
}

/* With an evaluation a step is long for another reason than with a checkpoint: each has its own group. */
static void tell_long(const struct series *all, uint64_t from, struct analysis_step_course *told)
{
	struct series groups[2] = { { calloc(all->count, sizeof(struct step)), 0 },
				    { calloc(all->count, sizeof(struct step)), 0 } };
	double usual_outside = median_of(all, outside_of, NULL);

	for (size_t i = 0; groups[0].steps && groups[1].steps && i < all->count; i++) {
		const struct step *step = &all->steps[i];
		struct series *group = &groups[step->outside > usual_outside];

		if (step->number >= from && is_long(step, told->usual_ms))
			group->steps[group->count++] = *step;
	}
	if ((double)(groups[0].count + groups[1].count) <= STEP_COURSE_RARE * (double)all->count)
		for (int i = 0; i < 2; i++)
			tell_group(all, &groups[i], told->usual_ms, usual_outside, &told->longs[i]);
	free(groups[0].steps);
	free(groups[1].steps);
}

void step_course_tell(const struct analysis *analysis, struct analysis_step_course *told)
{
	const struct pace *pace = &analysis->stragglers.pace;
	struct series series = { 0 };

	*told = (struct analysis_step_course){ 0 };
	read_series(&analysis->cells, &series);
	if (series.count >= STEP_COURSE_LEAST && tell_spread(&series, told)) {
		told->known = series.count;
		if (!told->uneven) {
			tell_first(pace, told->usual_ms, told);
			tell_long(&series, pace->first_step + told->first_count + 1, told);
		}
	}
	free(series.steps);
}
