/* SPDX-License-Identifier: MIT */
#include "analysis/late/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/numbers/alike.h"
#include "analysis/measure/lateness.h"
#include "analysis/numbers/sorting.h"

enum {
	RENUMBERED = 64, /* steps back: they are counted anew */
	BEFORE_MIN = 5,  /* rows that show how long rows lasted before a rank was late */
};

static bool has_rank(struct rows *rows, uint32_t rank)
{
	if (rank < rows->rank_count)
		return true;
	uint32_t count = rows->job->rank_count > rank ? rows->job->rank_count : rank + 1;
	struct rows_rank *ranks = realloc(rows->ranks, count * sizeof(*ranks));
	if (!ranks)
		return false;
	rows->ranks = ranks;
	if (!row_judge_has(&rows->judge, count))
		return false;
	memset(ranks + rows->rank_count, 0, (count - rows->rank_count) * sizeof(*ranks));
	rows->rank_count = count;
	return true;
}

static double row_ms(const struct rows *rows)
{
	return (double)rows_last_ns(rows) / 1e6;
}

/* Those that have ended this row. */
static uint32_t collect(const struct rows *rows, uint64_t number, const uint32_t *groups, struct row_entry *entries)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < rows->rank_count && i < rows->job->rank_count; i++) {
		const struct row *row = &rows->ranks[i].rows[number % ROWS_KEPT];
		if (row->number != number || rows->ranks[i].number <= number)
			continue;
		entries[count++] = (struct row_entry){ .rank = i,
						       .group = groups[i],
						       .stage = groups[i],
						       .own_ns = row->own_ns,
						       .inside_ns = row->inside_ns,
						       .unseen_ns = row->unseen_ns,
						       .until_ns = row->until_ns,
						       .operations = row->operations };
	}
	return count;
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

static void take_verdict(struct rows *rows, uint64_t number, const struct row_entry *entry)
{
	struct rows_rank *rank = &rows->ranks[entry->rank];
	struct row *row = &rank->rows[number % ROWS_KEPT];
	double cost_ms = row_judge_cost_ms(row_ms(rows));
	bool level = rows->judge.ranks[entry->rank].of_level;

	rank->group = entry->group;
	row->late_ms = entry->late_ms;
	row->beyond_ms = entry->beyond_ms;
	if (!level && row->late_ms * 2 < cost_ms)
		return;
	rank->late_row = number;
	if (!entry->begins)
		return;
	rank->since_row = level ? 0 : find_since(rank, number, cost_ms);
	rank->before_ns = level || !rows->steps ? 0 : lasted_before(rank);
}

/* A group is called by its first rank, which stays the same however its ranks were found to be alike. firsts:
 * zeroed. */
static void name_groups(const struct rows *rows, uint32_t *groups, uint32_t *firsts)
{
	for (uint32_t i = 0; i < rows->job->rank_count; i++) {
		uint32_t *first = &firsts[groups[i]];
		*first = *first ? *first : i + 1;
		groups[i] = *first - 1;
	}
}

/* What makes a whole host late makes its ranks late together. */
static void note_hosts(struct rows *rows, const struct row_entry *entries, uint32_t count)
{
	for (uint32_t i = 0; i < count && rows->job->host_count > 1; i++)
		late_series_place(&rows->judge.late, entries[i].rank,
				  rows->job->ranks[entries[i].rank].process->host + 1);
}

static void judge(struct rows *rows, uint64_t number)
{
	uint32_t room = rows->rank_count + rows->job->rank_count + 1;
	uint32_t *groups = calloc(room, sizeof(*groups)), *firsts = calloc(room, sizeof(*firsts));
	struct row_entry *entries = calloc(room, sizeof(*entries));

	if (groups && firsts && entries && !alike_find(rows->job, false, groups)) {
		name_groups(rows, groups, firsts);
		uint32_t count = collect(rows, number, groups, entries);
		note_hosts(rows, entries, count);
		row_judge(&rows->judge, entries, count, row_ms(rows), rows->job->pipelined);
		for (uint32_t i = 0; i < count; i++)
			if (entries[i].judged)
				take_verdict(rows, number, &entries[i]);
	}
	free(groups);
	free(firsts);
	free(entries);
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
	}
	rows->next = rows->newest = 0;
	row_judge_forget(&rows->judge);
}

static void begin_row(struct rows *rows, uint32_t rank, uint64_t number, uint64_t at_ns)
{
	uint64_t before = rows->ranks[rank].number;

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

static void note(struct rows *rows, uint32_t rank, enum analysis_part part, bool inside, uint64_t from_ns,
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

void rows_note(struct rows *rows, uint32_t rank, enum analysis_part part, bool inside, uint64_t from_ns,
	       uint64_t until_ns)
{
	if (!rows->job || !has_rank(rows, rank) || until_ns > INT64_MAX || from_ns > until_ns) /* of a damaged box */
		return;
	/* Of what lasted for longer than the rows that are kept only the end is of use. */
	uint64_t last_ns = rows_last_ns(rows);
	if (!rows->steps && until_ns - from_ns > ROWS_KEPT * last_ns)
		from_ns = until_ns - ROWS_KEPT * last_ns;
	for (uint64_t end_ns; !rows->steps && from_ns < until_ns; from_ns = end_ns) {
		uint64_t number = from_ns / last_ns + 1;
		if (number != rows->ranks[rank].number)
			begin_row(rows, rank, number, from_ns);
		end_ns = number * last_ns < until_ns ? number * last_ns : until_ns;
		note(rows, rank, part, inside, from_ns, end_ns);
	}
	if (from_ns < until_ns)
		note(rows, rank, part, inside, from_ns, until_ns);
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

/* Of a damaged box the times may be any. */
static int64_t shift_of(uint64_t done_ns, uint64_t mean_ns)
{
	uint64_t away_ns = done_ns > mean_ns ? done_ns - mean_ns : mean_ns - done_ns;
	int64_t shift_ns = away_ns < ROWS_SHIFT_NS ? (int64_t)away_ns : ROWS_SHIFT_NS;

	return done_ns > mean_ns ? shift_ns : -shift_ns;
}

/* The job goes on, and no step begins: from now on rows are as much time again. */
static bool has_lost_steps(const struct rows *rows, uint32_t rank, const struct row *row)
{
	const struct row *before = &rows->ranks[rank].rows[(row->number - 1) % ROWS_KEPT];

	return rows->steps && before->number && before->number == row->number - 1 && before->operations &&
	       row->operations / ROWS_LOST > before->operations;
}

void rows_note_operation(struct rows *rows, uint32_t rank, const struct operation *operation, uint64_t mean_ns)
{
	struct row *row = row_of(rows, rank);

	if (!row)
		return;
	row->operations++;
	row->shift_ns += mean_ns ? shift_of(operation->done_ns, mean_ns) : 0;
	if ((uint64_t)operation->late_us * 1000 >= LATENESS_NOISE_NS)
		row->single_ns += (uint64_t)operation->late_us * 1000;
	if (!has_lost_steps(rows, rank, row))
		return;
	rows->numbered = false;
	rows->steps = 0;
	forget(rows);
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
	return sum_ms > 0 ? (uint64_t)(sum_ms * 1e6 / known) : 0;
}

/* Where steps have no numbers, a row lasts for as many of what repeats as take ROWS_TIME_NS. */
static void fit_time(struct rows *rows, uint64_t step_ns)
{
	uint64_t off_ns = step_ns > rows->step_ns ? step_ns - rows->step_ns : rows->step_ns - step_ns;

	if (off_ns * ROWS_OFF <= rows->step_ns)
		return;
	forget(rows);
	rows->step_ns = step_ns;
}

/* Twice as many steps where they are that short, half as many where they last that long. */
void rows_fit(struct rows *rows, uint64_t step_ns)
{
	uint64_t steps = 1;

	if (!step_ns)
		return;
	if (!rows->numbered) {
		fit_time(rows, step_ns);
		return;
	}
	while (steps * step_ns < ROWS_LEAST_NS && steps < 1u << 20)
		steps *= 2;
	rows->step_ns = step_ns;
	bool short_ = rows->steps < steps && rows->steps * step_ns * 2 < ROWS_LEAST_NS;
	bool long_ = rows->steps > steps && rows->steps * step_ns > 4 * ROWS_LEAST_NS;
	if (rows->steps && !short_ && !long_)
		return;
	forget(rows);
	rows->steps = steps;
}

void rows_begin_step(struct rows *rows, uint32_t rank, uint64_t step, uint64_t at_ns)
{
	if (!rows->job || !step || !has_rank(rows, rank))
		return;
	if (!rows->numbered) {
		rows->numbered = true;
		rows_fit(rows, rows->step_ns); /* at once: each row counts before the first fault */
	}
	if (rows->steps)
		begin_row(rows, rank, step / rows->steps + 1, at_ns);
}

void rows_free(struct rows *rows)
{
	free(rows->ranks);
	row_judge_free(&rows->judge);
	*rows = (struct rows){ 0 };
}
