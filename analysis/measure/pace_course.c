/* SPDX-License-Identifier: MIT */
#include "analysis/measure/pace_course.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/explain/levels.h"
#include "analysis/model.h"
#include "analysis/steps/numbering.h"
#include "analysis/numbers/trend.h"

enum { MERGED = 3, QUARTERS = 4, WINDOWS_ENOUGH = 8 };

/* Blocks */

static float middle(float a, float b, float c)
{
	float low = fminf(a, b), high = fmaxf(a, b);

	return fmaxf(low, fminf(high, c));
}

static void merge(struct pace_course *course, uint32_t at)
{
	const struct pace_block *a = &course->blocks[at], *b = a + 1, *c = a + 2;

	course->blocks[at] = (struct pace_block){
		.step = a->step,
		.steps = a->steps * MERGED,
		.step_ms = middle(a->step_ms, b->step_ms, c->step_ms),
		.wait_ms = middle(a->wait_ms, b->wait_ms, c->wait_ms),
		.late_ms = middle(a->late_ms, b->late_ms, c->late_ms),
	};
	memmove(&course->blocks[at + 1], &course->blocks[at + MERGED],
		(course->count - at - MERGED) * sizeof(*course->blocks));
	course->count -= MERGED - 1;
}

static void make_room(struct pace_course *course)
{
	uint32_t begin = course->count;

	for (uint32_t length = 0; length < PACE_COURSE_LENGTHS; length++) {
		begin -= course->counts[length];
		if (course->counts[length] < PACE_COURSE_BLOCKS + MERGED)
			return;
		if (length + 1 < PACE_COURSE_LENGTHS) {
			merge(course, begin);
			course->counts[length] -= MERGED;
			course->counts[length + 1]++;
			begin++;
			continue;
		}
		memmove(course->blocks, course->blocks + 1, --course->count * sizeof(*course->blocks));
		course->counts[length]--;
	}
}

/* A step is over when the one behind the next begins: what of it comes later is not waited for. */
static void end_step(struct pace_course *course, uint64_t step)
{
	const struct open_step *from = &course->open[step % PACE_COURSE_OPEN],
			       *until = &course->open[(step + 1) % PACE_COURSE_OPEN];
	bool known =
	    from->step == step && until->step == step + 1 && from->start_ns && until->start_ns > from->start_ns;

	if (!known)
		return;
	course->blocks[course->count++] = (struct pace_block){
		.step = step,
		.steps = 1,
		.step_ms = (float)(until->start_ns - from->start_ns) / 1e6f,
		.wait_ms = from->wait_ms,
		.late_ms = from->late_ms,
	};
	course->counts[0]++;
	make_room(course);
}

static struct open_step *open_step(struct pace_course *course, uint64_t step)
{
	struct open_step *open = &course->open[step % PACE_COURSE_OPEN];

	if (open->step < step)
		*open = (struct open_step){ .step = step };
	return open->step == step ? open : NULL;
}

void pace_course_begin(struct pace_course *course, uint32_t numbering, uint64_t step, uint64_t start_ns)
{
	if (course->numbering != numbering)
		*course = (struct pace_course){ .numbering = numbering };
	struct open_step *open = step > course->newest ? open_step(course, step) : NULL;

	if (!open)
		return;
	open->start_ns = start_ns;
	uint64_t over = step > PACE_COURSE_OPEN ? step - PACE_COURSE_OPEN + 1 : 1;
	if (over + 1 < course->newest)
		over = course->newest - 1;
	course->newest = step;
	for (; over + 2 <= step; over++)
		end_step(course, over);
}

void pace_course_wait(struct pace_course *course, uint64_t step, uint64_t wait_ns)
{
	/* Another process may be a step ahead: one that is far ahead counts otherwise. */
	struct open_step *open = step <= course->newest + 1 ? open_step(course, step) : NULL;

	if (open)
		open->wait_ms = fmaxf(open->wait_ms, (float)wait_ns / 1e6f);
}

void pace_course_late(struct pace_course *course, uint64_t step, uint64_t late_ns)
{
	struct open_step *open = &course->open[step % PACE_COURSE_OPEN];

	if (open->step == step)
		open->late_ms = fmaxf(open->late_ms, (float)late_ns / 1e6f);
}

/* Judgement */

struct series {
	double at[PACE_COURSE_ROOM], step_ms[PACE_COURSE_ROOM], wait_ms[PACE_COURSE_ROOM], late_ms[PACE_COURSE_ROOM];
	double scratch[PACE_COURSE_ROOM];
	uint64_t steps[PACE_COURSE_ROOM + 1]; /* the first step of each, and the one behind all */
	size_t count;
};

/* A block is at its middle. */
static void read_series(const struct pace_course *course, struct series *series)
{
	for (uint32_t i = 0; i < course->count; i++) {
		const struct pace_block *block = &course->blocks[i];

		series->at[i] = (double)(block->step - course->blocks[0].step) + (double)(block->steps - 1) / 2;
		series->step_ms[i] = block->step_ms;
		series->wait_ms[i] = block->wait_ms;
		series->late_ms[i] = block->late_ms;
		series->steps[i] = block->step;
		series->steps[i + 1] = block->step + block->steps;
	}
	series->count = course->count;
}

static double median_of(struct series *series, const double *values, size_t begin, size_t end)
{
	memcpy(series->scratch, values + begin, (end - begin) * sizeof(*values));
	return trend_median(series->scratch, end - begin);
}

static double slope_of(const struct series *series, const double *values, size_t begin, size_t end)
{
	return trend_slope(series->at + begin, values + begin, end - begin);
}

/* Where the line with this slope through the values of [begin, end) is at `at`. */
static double line_at(struct series *series, const double *values, size_t begin, size_t end, double slope, double at)
{
	for (size_t i = begin; i < end; i++)
		series->scratch[i - begin] = values[i] - slope * (series->at[i] - at);
	return trend_median(series->scratch, end - begin);
}

/* The first block from `begin` on that begins `steps` steps later or more; at most `end`. */
static size_t after_steps(const struct series *series, size_t begin, size_t end, double steps)
{
	size_t i = begin + 1;

	while (i < end && (double)(series->steps[i] - series->steps[begin]) < steps)
		i++;
	return i < end ? i : end;
}

/* What the median of so many steps ever changed by, up or down, from one such time to the next, or to the one behind
 * that. */
static double unrest(struct series *series, size_t begin, size_t end, double steps, uint32_t *windows)
{
	double medians[2] = { 0 }, most = 0;

	for (*windows = 0; begin < end; ++*windows) {
		size_t until = after_steps(series, begin, end, steps);
		double median = median_of(series, series->step_ms, begin, until);

		for (uint32_t i = 0; i < 2 && i < *windows; i++)
			most = fmax(most, fabs(median - medians[i]));
		medians[*windows % 2] = median;
		begin = until;
	}
	return most;
}

/* Where each quarter of the steps begins; false: one of them has no block of its own. */
static bool find_quarters(const struct series *series, size_t begin, size_t end, size_t quarters[QUARTERS + 1])
{
	double steps = (double)(series->steps[end] - series->steps[begin]);

	quarters[0] = begin;
	for (int i = 1; i < QUARTERS; i++)
		quarters[i] = after_steps(series, begin, end, steps * i / QUARTERS);
	quarters[QUARTERS] = end;
	for (int i = 0; i < QUARTERS; i++)
		if (quarters[i] >= quarters[i + 1])
			return false;
	return true;
}

/* In each quarter more than in the one before, and in the later half not much less so than in all: what slows down is
 * not told to go on. */
static bool goes_on(struct series *series, const double *values, size_t begin, size_t end, double slope)
{
	size_t quarters[QUARTERS + 1];
	double before = -INFINITY;

	if (!find_quarters(series, begin, end, quarters))
		return false;
	for (int i = 0; i < QUARTERS; i++) {
		double median = median_of(series, values, quarters[i], quarters[i + 1]);

		if (median <= before)
			return false;
		before = median;
	}
	return slope_of(series, values, quarters[2], end) >= slope / 2;
}

/* Within a level, the quarters' medians are near each other, and so are those of what is left of a line. */
static double unrest_within(struct series *series, size_t begin, size_t end, double slope)
{
	size_t quarters[QUARTERS + 1];
	double least = INFINITY, most = -INFINITY;

	if (!find_quarters(series, begin, end, quarters))
		return INFINITY;
	for (int i = 0; i < QUARTERS; i++) {
		double off = line_at(series, series->step_ms, quarters[i], quarters[i + 1], slope, series->at[begin]);

		least = fmin(least, off);
		most = fmax(most, off);
	}
	return most - least;
}

/* What is told of the end of the series: since block `begin` steps take `rise` longer than before. */
struct change {
	size_t begin, warm; /* block; before `warm` the job started up, and was slower */
	double before_ms, now_ms, rise;
	double slope; /* 0: a level */
};

static double steps_before(const struct series *series, const struct change *change)
{
	return (double)(series->steps[change->begin] - series->steps[change->warm]);
}

static bool is_lasting(struct series *series, const struct change *change)
{
	double steps = (double)(series->steps[series->count] - series->steps[change->begin]),
	       before = steps_before(series, change);
	uint32_t windows;
	double noise = unrest(series, change->warm, change->begin, steps / QUARTERS, &windows);
	double beyond = windows >= WINDOWS_ENOUGH ? PACE_COURSE_BEYOND : 2 * PACE_COURSE_BEYOND;

	return steps >= PACE_COURSE_LASTING && before >= PACE_COURSE_LASTING && before >= steps / 2 &&
	       change->rise >= beyond * noise &&
	       change->rise >= PACE_COURSE_BEYOND * unrest_within(series, change->begin, series->count, change->slope);
}

static bool is_large(const struct change *change)
{
	return change->rise >= PACE_COURSE_MS && change->rise >= PACE_COURSE_SHARE * change->before_ms;
}

/* By how much the rank that is late most is later than before, of what steps take longer; where they grow from the
 * first one on, than at first. */
static double late_share(struct series *series, const struct change *change)
{
	size_t begin = change->begin, end = series->count;
	double late_ms;

	if (change->slope)
		late_ms = slope_of(series, series->late_ms, begin, end) * (series->at[end - 1] - series->at[begin]);
	else
		late_ms = median_of(series, series->late_ms, begin, end) - median_of(series, series->late_ms, 0, begin);
	return fmin(fmax(late_ms / change->rise, 0), 1);
}

/* From the first step on, or nearly. Steps of sequences that become longer grow so, too, and nobody comes late
 * there. */
static bool grows_from_the_start(struct series *series, const struct change *change)
{
	size_t begin = change->begin, end = series->count;
	double steps = (double)(series->steps[end] - series->steps[begin]);

	return change->slope && steps >= QUARTERS * PACE_COURSE_LASTING && change->rise >= change->before_ms / 2 &&
	       late_share(series, change) >= PACE_COURSE_LATE &&
	       goes_on(series, series->late_ms, begin, end, slope_of(series, series->late_ms, begin, end)) &&
	       change->rise >= 2 * PACE_COURSE_BEYOND * unrest_within(series, begin, end, change->slope);
}

static bool is_told(struct series *series, const struct change *change)
{
	if (!is_large(change))
		return false;
	if (change->slope && !goes_on(series, series->step_ms, change->begin, series->count, change->slope))
		return false;
	return steps_before(series, change) < PACE_COURSE_LASTING ? grows_from_the_start(series, change)
								  : is_lasting(series, change);
}

/* Where the level, or line, is at its end. */
static double end_of(struct series *series, const struct lasting_level *level)
{
	if (!level->slope)
		return level->median;
	return line_at(series, series->step_ms, level->begin, level->end, level->slope, series->at[level->end - 1]);
}

/* The first level, where it is short and above the next. */
static bool is_start_up(const struct series *series, const struct lasting_level *levels, size_t begin)
{
	return levels[0].median > levels[1].median && (series->steps[levels[1].begin] - series->steps[0]) * QUARTERS <=
							  series->steps[begin] - series->steps[0];
}

static struct change last_change(struct series *series, const struct lasting_level *levels, size_t count)
{
	const struct lasting_level *last = &levels[count - 1];
	size_t first = count - 1;

	/* What grows faster and faster is one growth, of several slopes. */
	while (first > 0 && last->slope > 0 && levels[first - 1].slope > 0)
		first--;
	struct change change = { .begin = levels[first].begin,
				 .slope = fmax(last->slope, 0),
				 .now_ms = end_of(series, last) };

	if (first > 1 && is_start_up(series, levels, change.begin))
		change.warm = levels[1].begin;
	if (first > 0)
		change.before_ms = end_of(series, &levels[first - 1]);
	else
		change.before_ms = line_at(series, series->step_ms, 0, levels[0].end, levels[0].slope, series->at[0]);
	change.rise = change.now_ms - change.before_ms;
	return change;
}

/* Of the longest wait of each step, where it grows as well, and for the same reason. */
static void follow_wait(struct series *series, const struct change *change, struct analysis_pace *told)
{
	size_t begin = change->begin, end = series->count, count = end - begin;
	double slope = slope_of(series, series->wait_ms, begin, end);
	size_t first = count > TREND_VALUES ? count - TREND_VALUES : 0;
	double rise = slope * (series->at[end - 1] - series->at[begin]);

	if (rise < PACE_COURSE_WAIT * change->rise || told->late_share < PACE_COURSE_LATE ||
	    trend_score(series->wait_ms + begin + first, count - first) < LEVELS_TREND ||
	    !goes_on(series, series->wait_ms, begin, end, slope))
		return;
	told->wait_ms_per_step = slope;
	told->wait_ms = line_at(series, series->wait_ms, begin, end, slope, series->at[end - 1]);
}

static void judge(struct series *series, struct analysis_pace *told)
{
	struct lasting_level levels[LEVELS_MOST];
	size_t count = levels_find(series->at, series->step_ms, series->count, levels);

	if (!count)
		return;
	struct change change = last_change(series, levels, count);

	told->course = ANALYSIS_PACE_STEADY;
	told->before_ms = change.before_ms;
	told->now_ms = change.now_ms;
	if (!is_told(series, &change))
		return;
	told->course = change.slope ? ANALYSIS_PACE_GROWS : ANALYSIS_PACE_LONGER;
	told->since_step = change.begin ? series->steps[change.begin] : 0;
	told->ms_per_step = change.slope;
	told->late_share = late_share(series, &change);
	if (change.slope)
		follow_wait(series, &change, told);
}

struct analysis_pace pace_course_judge(const struct pace_course *course)
{
	struct analysis_pace told = { .course = ANALYSIS_PACE_UNKNOWN };
	struct series *series = course->count >= PACE_COURSE_LEAST ? calloc(1, sizeof(*series)) : NULL;

	if (!series)
		return told;
	read_series(course, series);
	told.known = series->steps[series->count] - series->steps[0];
	told.step = series->steps[series->count] - 1;
	judge(series, &told);
	free(series);
	return told;
}

/* Told */

static const struct process *shortest_watchdog(const struct job *job)
{
	const struct process *shortest = NULL;

	for (uint32_t i = 0; i < job->process_count; i++)
		if (job->processes[i]->watchdog_ms &&
		    (!shortest || job->processes[i]->watchdog_ms < shortest->watchdog_ms))
			shortest = job->processes[i];
	return shortest;
}

/* Steps before it grow as they do now. How far may be looked ahead goes by how long the growth was seen. */
static void foresee(const struct job *job, struct analysis_pace *told)
{
	const struct process *process = shortest_watchdog(job);
	double seen = (double)(told->step - told->since_step);

	if (!process || told->wait_ms_per_step <= 0)
		return;
	double steps = ((double)process->watchdog_ms - told->wait_ms) / told->wait_ms_per_step;

	if (steps < 1 || steps > PACE_COURSE_FAR * seen)
		return;
	told->watchdog_ms = (double)process->watchdog_ms;
	memcpy(told->watchdog_from, process->watchdog_from, sizeof(told->watchdog_from));
	told->watchdog_step = told->step + (uint64_t)ceil(steps);
	told->watchdog_in_s = steps * (told->now_ms + told->ms_per_step * steps / 2) / 1e3;
}

static bool number(const struct process *process, uint64_t *step)
{
	int64_t told = *step ? numbering_told(process, *step) : 0;

	*step = told > 0 ? (uint64_t)told : 0;
	return told >= 0;
}

void pace_course_tell(const struct analysis *analysis, struct analysis_pace *told)
{
	const struct pace_course *course = &analysis->pace_course;
	uint32_t clock = analysis->stragglers.clock;
	const struct process *process = course->newest && clock != JOB_NONE ? analysis->job.processes[clock] : NULL;

	*told = (struct analysis_pace){ .course = ANALYSIS_PACE_UNKNOWN };
	if (!process || process->steps.trust != STEPS_CERTAIN)
		return;
	*told = pace_course_judge(course);
	foresee(&analysis->job, told);
	if (!number(process, &told->since_step) || !number(process, &told->step) ||
	    !number(process, &told->watchdog_step))
		*told = (struct analysis_pace){ .course = ANALYSIS_PACE_UNKNOWN };
}

/* Found out anew when some share of the steps has been added: a finding is looked at once a second, and of many steps
 * that would cost more than it tells. */
static bool is_stale(const struct pace_course *course)
{
	const struct analysis_pace *told = &course->told;
	uint64_t pause = told->course == ANALYSIS_PACE_GROWS ? (told->step - told->since_step) / 8 : told->known / 128;

	return course->newest < course->told_step || course->newest > course->told_step + pause;
}

void pace_course_attach(struct analysis *analysis, struct record *record, uint64_t lost_ns)
{
	struct pace_course *course = &analysis->pace_course;

	if (is_stale(course)) {
		pace_course_tell(analysis, &course->told);
		course->told_step = course->newest;
	}
	const struct analysis_pace *told = &course->told;

	if (!told->watchdog_step || !record->finding.watchdog.present ||
	    (double)lost_ns / 1e6 < PACE_COURSE_LATE * (told->now_ms - told->before_ms))
		return;
	record->finding.watchdog.wait_grows_ms = told->wait_ms_per_step;
	record->finding.watchdog.reached_step = (int64_t)told->watchdog_step;
	record->finding.watchdog.reached_in_ms = told->watchdog_in_s * 1e3;
}
