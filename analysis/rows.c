/* SPDX-License-Identifier: MIT */
#include "analysis/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/alike.h"
#include "analysis/lateness.h"
#include "analysis/sorting.h"
#include "analysis/sums.h"

enum {
	FOLLOWS = 256,   /* what is usual of a stage follows it by such a part a row, at most */
	RENUMBERED = 64, /* steps back: they are counted anew */
	STAGES_MIN = 2,  /* stages of a pipeline that can be compared */
	BEFORE_MIN = 5,  /* rows that show how long rows lasted before a rank was late */
};

/* One rank in the row that is judged. */
struct entry {
	uint32_t rank, group;
	const struct row *row;
};

static int by_group(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static bool has_rank(struct rows *rows, uint32_t rank)
{
	if (rank < rows->rank_count)
		return true;
	uint32_t count = rows->job->rank_count > rank ? rows->job->rank_count : rank + 1;
	struct rows_rank *ranks = realloc(rows->ranks, count * sizeof(*ranks));
	if (!ranks)
		return false;
	rows->ranks = ranks;
	struct rows_stage *stages = realloc(rows->stages, count * sizeof(*stages));
	if (!stages)
		return false;
	rows->stages = stages;
	if (!late_series_has(&rows->late, count) || !late_series_has(&rows->stages_late, count))
		return false;
	memset(ranks + rows->rank_count, 0, (count - rows->rank_count) * sizeof(*ranks));
	memset(stages + rows->rank_count, 0, (count - rows->rank_count) * sizeof(*stages));
	rows->rank_count = count;
	return true;
}

static double row_ms(const struct rows *rows)
{
	return (double)rows_last_ns(rows) / 1e6;
}

/* An account without gaps: what a rank did in unseen time is no work, and no wait. */
static bool is_whole(const struct rows_rank *rank, uint64_t number)
{
	const struct row *row = &rank->rows[number % ROWS_KEPT];
	uint64_t sum_ns = row->own_ns + row->inside_ns + row->unseen_ns;

	return row->number == number && rank->number > number && (double)row->unseen_ns <= ROWS_UNSEEN * (double)sum_ns;
}

static uint32_t collect(struct rows *rows, uint64_t number, const uint32_t *groups, struct entry *entries)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < rows->rank_count && i < rows->job->rank_count; i++) {
		const struct row *row = &rows->ranks[i].rows[number % ROWS_KEPT];
		rows->ranks[i].operations *= ROWS_KEEPS;
		rows->ranks[i].operations += row->number == number ? row->operations : 0;
		if (is_whole(&rows->ranks[i], number))
			entries[count++] = (struct entry){ .rank = i, .group = groups[i], .row = row };
	}
	qsort(entries, count, sizeof(*entries), by_group);
	return count;
}

/* Who makes as many operations as most of the group, to the front; how many. Of a single row some may count in the next
 * one. */
static uint32_t keep_alike(const struct rows *rows, struct entry *entries, uint32_t count, uint64_t *values)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		values[i] = (uint64_t)rows->ranks[entries[i].rank].operations;
	sort_u64(values, count);
	double usual = (double)values[count / 2];
	for (uint32_t i = 0; i < count; i++)
		if (fabs(rows->ranks[entries[i].rank].operations - usual) * SUMS_UNLIKE <= usual)
			entries[kept++] = entries[i];
	return kept;
}

/* Of sorted values, the median of all but one that equals `own`. */
static double median_but(const uint64_t *sorted, uint32_t count, uint64_t own)
{
	uint32_t at = 0, others = count - 1;

	while (at + 1 < count && sorted[at] < own)
		at++;
	uint32_t low = (others - 1) / 2, high = others / 2;
	return ((double)sorted[low < at ? low : low + 1] + (double)sorted[high < at ? high : high + 1]) / 2;
}

static void judge_group(struct rows *rows, struct entry *entries, uint32_t count, uint64_t *values)
{
	uint64_t *inside = values + count;

	count = keep_alike(rows, entries, count, values);
	if (count < 2)
		return;
	for (uint32_t i = 0; i < count; i++) {
		values[i] = entries[i].row->own_ns;
		inside[i] = entries[i].row->inside_ns;
	}
	sort_u64(values, count);
	sort_u64(inside, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct row *row = entries[i].row;
		double longer_ns = (double)row->own_ns - median_but(values, count, row->own_ns);
		double less_ns = median_but(inside, count, row->inside_ns) - (double)row->inside_ns;
		late_series_put(&rows->late, entries[i].rank, fmin(longer_ns, less_ns) / 1e6);
	}
}

static double median_of_row(const struct entry *entries, uint32_t count, uint64_t *values)
{
	for (uint32_t i = 0; i < count; i++)
		values[i] = entries[i].row->own_ns;
	sort_u64(values, count);
	return (double)values[(count - 1) / 2] / 1e6;
}

/* The first rows of a stage say what is usual; then that follows, but only slowly: a lateness shall not become usual.
 */
static void learn(struct rows_stage *stage, double own_ms, double all)
{
	const uint32_t firsts = sizeof(stage->firsts_ms) / sizeof(*stage->firsts_ms);

	if (stage->known < firsts) {
		double sorted[sizeof(stage->firsts_ms) / sizeof(*stage->firsts_ms)];
		stage->firsts_ms[stage->known++] = own_ms;
		memcpy(sorted, stage->firsts_ms, sizeof(sorted));
		sort_doubles(sorted, firsts);
		stage->usual_ms = stage->known == firsts ? sorted[firsts / 2] : 0;
		return;
	}
	double away_ms = own_ms - stage->usual_ms * all;
	stage->usual_ms += copysign(fmin(fabs(away_ms), stage->usual_ms / FOLLOWS), away_ms);
}

/* How many times as long as usual the stages work in this row: that one of them for which it is least but half of them.
 */
static double find_all(const struct rows *rows, const uint32_t *firsts, const double *own_ms, uint32_t count,
		       double *times)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < count; i++)
		if (rows->stages[firsts[i]].usual_ms > 0)
			times[known++] = own_ms[i] / rows->stages[firsts[i]].usual_ms;
	if (known < STAGES_MIN)
		return 0;
	sort_doubles(times, known);
	return times[(known - 1) / 2];
}

/* Stages of a pipeline do different work: each is compared with its own past, and that with what the others do. */
static void judge_stages(struct rows *rows, const uint32_t *firsts, const double *own_ms, uint32_t count, double *times)
{
	double all = find_all(rows, firsts, own_ms, count, times);

	for (uint32_t i = 0; i < count; i++) {
		struct rows_stage *stage = &rows->stages[firsts[i]];
		if (all > 0 && stage->usual_ms > 0)
			late_series_put(&rows->stages_late, firsts[i], own_ms[i] - stage->usual_ms * fmax(all, 1));
		learn(stage, own_ms[i], all > 0 ? all : 1);
	}
}

/* Late beyond chance from now on, or no longer. */
static void decide(struct late_series *series, uint32_t index, double lasts_ms, uint64_t at_ns, uint64_t *decided_ns,
		   uint32_t *clean)
{
	bool late = late_series_is_late(series, index, lasts_ms);

	if (late && !*decided_ns && late_series_is_proven(series, index, lasts_ms)) {
		*decided_ns = at_ns;
		*clean = 0;
	} else if (*decided_ns) {
		*clean = late ? 0 : *clean + 1;
		if (*clean >= ROWS_CLEAN)
			*decided_ns = 0;
	}
	late_series_open(series, index, *decided_ns);
}

/* The first of the late rows without a break that end with this one. */
static uint64_t find_since(const struct rows_rank *rank, uint64_t number, double least_ms)
{
	while (number > 1 && rank->rows[(number - 1) % ROWS_KEPT].number == number - 1 &&
	       rank->rows[(number - 1) % ROWS_KEPT].late_ms * 2 >= least_ms)
		number--;
	return number;
}

/* The median of the rows before it was late; 0 where fewer than BEFORE_MIN are kept. */
static uint64_t lasted_before(const struct rows_rank *rank)
{
	uint64_t lasted_ns[ROWS_KEPT];
	uint32_t count = 0;

	for (uint64_t number = rank->since_row - 1; number && count < ROWS_KEPT; number--) {
		const struct row *row = &rank->rows[number % ROWS_KEPT];
		if (row->number != number)
			break;
		lasted_ns[count++] = row->until_ns - row->from_ns;
	}
	sort_u64(lasted_ns, count);
	return count < BEFORE_MIN ? 0 : lasted_ns[count / 2];
}

/* The others would have waited for the next one of them. */
static double beyond_others(const struct rows *rows, const struct entry *entries, uint32_t count, uint32_t at)
{
	double late_ms = late_series_late_ms(&rows->late, entries[at].rank, 0), next_ms = 0;

	for (uint32_t i = 0; i < count; i++)
		if (i != at && entries[i].group == entries[at].group && !rows->ranks[entries[i].rank].decided_ns)
			next_ms = fmax(next_ms, late_series_late_ms(&rows->late, entries[i].rank, 0));
	return fmax(late_ms - next_ms, 0);
}

static void decide_ranks(struct rows *rows, const struct entry *entries, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct rows_rank *rank = &rows->ranks[entries[i].rank];
		struct row *row = &rank->rows[entries[i].row->number % ROWS_KEPT];
		const struct rows_stage *stage = &rows->stages[entries[i].group];
		uint64_t own_ns = rank->of_stage ? 0 : rank->decided_ns;
		double cost_ms = LATE_SERIES_SHARE * row_ms(rows);
		bool before = rank->decided_ns;

		decide(&rows->late, entries[i].rank, row_ms(rows), row->until_ns, &own_ns, &rank->clean);
		row->late_ms = late_series_late_ms(&rows->late, entries[i].rank, 0);
		rank->of_stage = !own_ns && stage->decided_ns;
		if (rank->of_stage)
			row->late_ms = stage->late_ms;
		rank->decided_ns = rank->of_stage ? stage->decided_ns : own_ns;
		rank->group = entries[i].group;
		if (row->late_ms * 2 < cost_ms)
			continue;
		rank->late_row = row->number;
		row->beyond_ms = rank->of_stage ? stage->late_ms : beyond_others(rows, entries, count, i);
		if (before || !rank->decided_ns)
			continue;
		rank->since_row = find_since(rank, row->number, cost_ms);
		rank->before_ns = lasted_before(rank);
	}
}

struct groups {
	uint32_t *of; /* by rank */
	struct entry *entries;
	uint64_t *values;
	uint32_t *firsts;       /* first rank of each group that was judged, … */
	double *own_ms, *times; /* … its work, and room for as many */
	uint32_t count;
};

static void judge_groups(struct rows *rows, struct groups *groups, uint32_t count)
{
	for (uint32_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && groups->entries[end].group == groups->entries[first].group;)
			end++;
		groups->firsts[groups->count] = groups->entries[first].group;
		groups->own_ms[groups->count++] = median_of_row(&groups->entries[first], end - first, groups->values);
		judge_group(rows, &groups->entries[first], end - first, groups->values);
	}
	if (rows->job->pipelined)
		judge_stages(rows, groups->firsts, groups->own_ms, groups->count, groups->times);
}

static void judge_row(struct rows *rows, struct groups *groups, uint64_t number)
{
	uint32_t count = collect(rows, number, groups->of, groups->entries);

	late_series_begin(&rows->late);
	late_series_begin(&rows->stages_late);
	for (uint32_t i = 0; i < rows->rank_count; i++)
		rows->stages[i].late_ms = NAN;
	judge_groups(rows, groups, count);
	for (uint32_t i = 0; i < groups->count; i++) {
		struct rows_stage *stage = &rows->stages[groups->firsts[i]];
		stage->late_ms = late_series_late_ms(&rows->stages_late, groups->firsts[i], 0);
		decide(&rows->stages_late, groups->firsts[i], row_ms(rows), groups->entries[0].row->until_ns,
		       &stage->decided_ns, &stage->clean);
	}
	decide_ranks(rows, groups->entries, count);
}

/* A group is called by its first rank, which stays the same however its ranks were found to be alike. values: zeroed.
 */
static void name_groups(const struct rows *rows, struct groups *groups)
{
	for (uint32_t i = 0; i < rows->job->rank_count; i++) {
		uint64_t *first = &groups->values[groups->of[i]];
		*first = *first ? *first : i + 1;
		groups->of[i] = (uint32_t)(*first - 1);
	}
}

static void judge(struct rows *rows, uint64_t number)
{
	uint32_t room = rows->rank_count + rows->job->rank_count + 1;
	struct groups groups = {
		.of = calloc(room, sizeof(*groups.of)),
		.entries = calloc(room, sizeof(*groups.entries)),
		.values = calloc(2 * (size_t)room, sizeof(*groups.values)),
		.firsts = calloc(room, sizeof(*groups.firsts)),
		.own_ms = calloc(room, sizeof(*groups.own_ms)),
		.times = calloc(room, sizeof(*groups.times)),
	};
	bool memory = groups.of && groups.entries && groups.values && groups.firsts && groups.own_ms && groups.times;

	if (memory && !alike_find(rows->job, false, groups.of)) {
		name_groups(rows, &groups);
		judge_row(rows, &groups, number);
	}
	free(groups.of);
	free(groups.entries);
	free(groups.values);
	free(groups.firsts);
	free(groups.own_ms);
	free(groups.times);
}

/* All that began it have ended it, or the job no longer waits for them. */
static bool is_over(const struct rows *rows, uint64_t number)
{
	if (rows->newest <= number)
		return false;
	for (uint32_t i = 0; i < rows->rank_count && rows->newest < number + ROWS_BEHIND; i++)
		if (rows->ranks[i].number && rows->ranks[i].number <= number)
			return false;
	return true;
}

static void move_on(struct rows *rows)
{
	if (rows->next + ROWS_KEPT / 2 < rows->newest)
		rows->next = rows->newest - ROWS_KEPT / 2;
	for (; is_over(rows, rows->next); rows->next++)
		judge(rows, rows->next);
}

static void forget(struct rows *rows)
{
	for (uint32_t i = 0; i < rows->rank_count; i++) {
		memset(rows->ranks[i].rows, 0, sizeof(rows->ranks[i].rows));
		rows->ranks[i].number = 0;
		rows->stages[i] = (struct rows_stage){ .decided_ns = rows->stages[i].decided_ns };
	}
	rows->next = rows->newest = 0;
	late_series_forget(&rows->late);
	late_series_forget(&rows->stages_late);
}

void rows_begin_step(struct rows *rows, uint32_t rank, uint64_t step, uint64_t at_ns)
{
	if (!rows->job || !rows->steps || !step || !has_rank(rows, rank))
		return;
	uint64_t number = step / rows->steps + 1, before = rows->ranks[rank].number;
	if (number + RENUMBERED < before)
		forget(rows);
	else if (number <= before)
		return;
	if (before)
		rows->ranks[rank].rows[before % ROWS_KEPT].until_ns = at_ns;
	rows->ranks[rank].number = number;
	rows->ranks[rank].rows[number % ROWS_KEPT] =
	    (struct row){ .number = number, .from_ns = at_ns, .until_ns = at_ns, .late_ms = NAN };
	if (number > rows->newest) {
		rows->next = rows->newest ? rows->next : number + 1; /* the first one is not whole */
		rows->newest = number;
	}
	if (!before || before >= rows->next)
		move_on(rows);
}

/* NULL: no row is in progress. */
static struct row *row_of(struct rows *rows, uint32_t rank)
{
	if (!rows->job || rank >= rows->rank_count || !rows->ranks[rank].number)
		return NULL;
	return &rows->ranks[rank].rows[rows->ranks[rank].number % ROWS_KEPT];
}

void rows_note(struct rows *rows, uint32_t rank, enum analysis_part part, bool inside, uint64_t from_ns,
	       uint64_t until_ns)
{
	struct row *row = row_of(rows, rank);

	if (!row)
		return;
	uint64_t ns = until_ns - from_ns;
	if (inside)
		row->inside_ns += ns;
	else if (part == ANALYSIS_OWN)
		row->own_ns += ns;
	else
		row->unseen_ns += ns;
	row->until_ns = until_ns;
}

void rows_note_launch(struct rows *rows, uint32_t rank, uint64_t from_ns, uint64_t launch_ns, uint64_t until_ns)
{
	struct row *row = row_of(rows, rank);

	if (!row)
		return;
	if (!launch_ns)
		row->unlaunched_ns += until_ns - from_ns;
	else if (launch_ns > from_ns + LATENESS_NOISE_NS)
		row->host_ns += (launch_ns < until_ns ? launch_ns : until_ns) - from_ns;
	else if (launch_ns + 2 * LATENESS_NOISE_NS < until_ns)
		row->device_ns += until_ns - from_ns;
}

void rows_note_operation(struct rows *rows, uint32_t rank, const struct operation *operation,
			 const struct sums_meeting *meeting)
{
	struct row *row = row_of(rows, rank);

	if (!row)
		return;
	row->operations++;
	row->shift_ns += meeting->mean_ns ? (int64_t)(operation->done_ns - meeting->mean_ns) : 0;
	if ((uint64_t)operation->late_us * 1000 >= LATENESS_NOISE_NS)
		row->single_ns += (uint64_t)operation->late_us * 1000;
}

uint64_t rows_late_ns(const struct rows *rows, uint32_t rank, uint32_t count)
{
	double sum_ms = 0;
	uint32_t known = 0;

	if (rank >= rows->rank_count)
		return 0;
	for (uint64_t number = rows->next; number && known < count && number + ROWS_KEPT > rows->next; number--) {
		const struct row *row = &rows->ranks[rank].rows[(number - 1) % ROWS_KEPT];
		if (row->number != number - 1 || isnan(row->late_ms))
			continue;
		sum_ms += row->late_ms;
		known++;
	}
	return sum_ms > 0 ? (uint64_t)(sum_ms * 1e6 / known / (double)rows->steps) : 0;
}

/* Twice as many steps where they are that short, half as many where they last that long. */
void rows_fit(struct rows *rows, uint64_t step_ns)
{
	uint64_t steps = 1;

	if (!step_ns)
		return;
	while (steps * step_ns < ROWS_LEAST_NS && steps < 1u << 20)
		steps *= 2;
	rows->step_ns = step_ns;
	bool short_ = rows->steps < steps && rows->steps * step_ns * 2 < ROWS_LEAST_NS;
	bool long_ = rows->steps > steps && rows->steps * step_ns > 4 * ROWS_LEAST_NS;
	if (rows->steps && !short_ && !long_)
		return;
	if (rows->steps)
		forget(rows);
	rows->steps = steps;
}

void rows_free(struct rows *rows)
{
	free(rows->ranks);
	free(rows->stages);
	late_series_free(&rows->late);
	late_series_free(&rows->stages_late);
	*rows = (struct rows){ 0 };
}
