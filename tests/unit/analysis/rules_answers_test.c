/* SPDX-License-Identifier: MIT */
/*
 * What single rules of the analysis answer to drawn numbers, of which many are equal, or lie at a limit, or fill a table: whom the account
 * names, how steps change, where levels lie, what repeats, how votes go, what the table of steps keeps. As in answers_test.c, it says that
 * nothing changes unnoticed. A change that is meant: `ninja -C build analysis-answers`.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/account.h"
#include "analysis/cells.h"
#include "analysis/job/votes.h"
#include "analysis/job/world.h"
#include "analysis/levels.h"
#include "analysis/model.h"
#include "analysis/pace.h"
#include "analysis/pace_course.h"
#include "analysis/period.h"
#include "analysis/trend.h"
#include "kept_answers.h"

#define MS UINT64_C(1000000)

enum { DRAWS = 40, RANKS = 12, VALUES = 600 };

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* Few, so that many of them are equal. */
static uint64_t drawn_time(void)
{
	static const uint64_t times[] = { 0, 1, 19 * MS, ACCOUNT_TOLD_NS - 1, ACCOUNT_TOLD_NS, ACCOUNT_TOLD_NS + 1, 95 * MS, 50 * MS, 100 * MS, 1000 * MS };

	return times[draw(10)];
}

static void show_account(const struct analysis_account *told)
{
	fprintf(kept.all, "%d %.6g %.6g %.6g %.6g %.6g %d:", told->known, told->own, told->wait, told->transfer, told->unseen, told->nobody, told->left_out);
	for (uint32_t i = 0; i < told->loss_count; i++) {
		const struct analysis_loss *loss = &told->losses[i];

		fprintf(kept.all, " %d %.6g %d %d %lu/%lu %.6g %d %d,", loss->rank, loss->share, loss->at_least, loss->spread_out, loss->steps, loss->of_steps, loss->step_ms,
			loss->by, loss->cause_class);
	}
	fprintf(kept.all, "\n");
}

/* Ranks that are nearly alike, but for some: shares lie around what is told. */
static void draw_rank(struct account_rank *rank, bool alike)
{
	uint64_t whole = 1000 * MS, wait = alike ? 100 * MS : drawn_time(), transfer = alike ? 100 * MS : drawn_time();

	*rank = (struct account_rank){ 0 };
	rank->whole.parts.wait_ns = draw(3) ? wait : wait + draw(4) * 10 * MS;
	rank->whole.parts.transfer_ns = transfer;
	rank->whole.parts.unseen_ns = draw(4) ? 0 : draw(3) * 10 * MS + draw(2);
	rank->whole.parts.own_ns = whole - rank->whole.parts.wait_ns - rank->whole.parts.transfer_ns - rank->whole.parts.unseen_ns;
	if (draw(3) == 0)
		rank->whole.parts.own_ns += draw(5) * 25 * MS;
	rank->waited_ns = draw(2) ? 0 : drawn_time() * (1 + draw(4));
	rank->late_step = draw(3);
	rank->late_ns = drawn_time() * (1 + draw(3));
	rank->late_steps = draw(4);
	rank->host_ns = draw(2) ? 0 : draw(3) * MS;
	rank->device_ns = draw(2) ? 0 : draw(3) * MS;
}

static void play_account(void)
{
	static struct analysis analysis;
	struct account_rank ranks[RANKS];
	struct rank job_ranks[RANKS];
	bool alike = draw(2);

	memset(job_ranks, 0, sizeof(job_ranks));
	analysis.account = (struct account){ .ranks = ranks, .rank_count = draw(RANKS + 1), .nobody_ns = drawn_time(), .left_out = draw(4), .untimed = draw(8),
					     .first_step = draw(3), .last_step = draw(2) ? 20 + draw(5) - 2 : draw(60), .steps_before = draw(3) ? 0 : draw(30), .marked = draw(2) };
	analysis.job.ranks = job_ranks;
	analysis.job.rank_count = analysis.account.rank_count;
	for (uint32_t i = 0; i < analysis.account.rank_count; i++) {
		job_ranks[i].world = (int32_t)(100 + i);
		draw_rank(&ranks[i], alike);
	}
	struct analysis_account told;

	account_tell(&analysis, &told);
	show_account(&told);
}

static void show_pace(const struct pace_course *course)
{
	struct analysis_pace pace = pace_course_judge(course);

	fprintf(kept.all, "%d of %lu, since %lu at %lu: %.6g then %.6g, %.6g, late %.6g; waits %.6g, %.6g\n", pace.course, pace.known, pace.since_step, pace.step,
		pace.before_ms, pace.now_ms, pace.ms_per_step, pace.late_share, pace.wait_ms, pace.wait_ms_per_step);
}

/* Steps that become longer once, again, bit by bit, or faster and faster; some of them missing, or told too late. */
static void play_pace(void)
{
	struct pace_course *course = calloc(1, sizeof(*course));
	uint64_t at_ns = 1000, step = 1 + draw(3), turns = 40 + draw(draw(8) ? 400 : 4000), first = draw(200), second = first + draw(300);
	uint64_t kind = draw(6), rise = MS * (1 + draw(60)), noise = draw(3) ? draw(3) * MS : 0, part = draw(3);

	cr_assert(course);
	for (uint64_t i = 0; i < turns; i++) {
		uint64_t length = 100 * MS, more = 0;

		if (kind == 1 && i >= first)
			more = rise;
		if (kind == 2)
			more = i < first ? 0 : i < second ? rise : 2 * rise;
		if (kind == 3)
			more = rise * i / 100;
		if (kind == 4)
			more = i < first ? rise : (i - first) * (i - first) * rise / 100000;
		if (kind == 5)
			more = i < first ? 0 : (i - first) * rise / 50;
		pace_course_begin(course, draw(2000) ? 7 : 8, step, draw(300) ? at_ns : 0);
		pace_course_wait(course, step - draw(2) + draw(2), more * part / 2 + draw(2) * MS);
		pace_course_late(course, step - draw(3), more * part / 2);
		at_ns += length + more + (noise ? draw((uint32_t)noise) : 0);
		step += draw(60) ? 1 : draw(4);
		if (i % 61 == 60)
			show_pace(course);
	}
	show_pace(course);
	free(course);
}

static void play_levels(void)
{
	static double at[VALUES * 4], values[VALUES * 4];
	struct lasting_level levels[LEVELS_MOST];
	size_t count = draw(10) ? draw(VALUES) : LEVELS_VALUES - 2 + draw(5);
	double level = 100, slope = 0, x = 0;
	uint32_t noise = draw(3) ? draw(6) : 0;

	for (size_t i = 0; i < count; i++) {
		if (draw(40) == 0)
			level += (double)draw(100) - 50;
		if (draw(60) == 0)
			slope = draw(2) ? 0 : (double)draw(5) - 2;
		level += slope;
		at[i] = x;
		x += draw(10) ? 1 : 3;
		values[i] = level + (noise ? draw(noise) : 0) + (draw(50) ? 0 : 500);
	}
	size_t found = levels_find(at, values, count, levels);

	fprintf(kept.all, "%zu values, score %.6g, slope %.6g, %zu levels:", count, trend_score(values, count), trend_slope(at, values, count), found);
	for (size_t i = 0; i < found; i++)
		fprintf(kept.all, " %zu-%zu %.6g %.6g", levels[i].begin, levels[i].end, levels[i].median, levels[i].slope);
	fprintf(kept.all, "\n");
}

static void play_period(void)
{
	static uint32_t signatures[1024];
	uint32_t length = 1 + draw(draw(4) ? 12 : 200), count = draw(1024), pattern[200];
	struct period_tail tail = { 0 };

	for (uint32_t i = 0; i < length; i++)
		pattern[i] = draw(4) << 3 | draw(PERIOD_MARKS + 1);
	for (uint32_t i = 0; i < count; i++)
		signatures[i] = draw(400) ? pattern[i % length] : draw(64);
	struct period found = period_find(signatures, count);

	fprintf(kept.all, "%u of %u: %u %u %u %d", length, count, found.length, found.explained, found.start, found.step);
	for (uint32_t i = 0; i < count && i < 60; i++)
		fprintf(kept.all, " %d%d", period_starts(signatures, i), period_ends(&tail, signatures[i]));
	fprintf(kept.all, "\n");
}

static void play_pace_notes(void)
{
	struct pace pace = { 0 };
	uint64_t step = draw(3), at_ns = 5;

	for (uint32_t i = 0; i < 200; i++) {
		step += draw(20) ? 1 : draw(70);
		at_ns += MS * (1 + draw(9));
		pace_note(&pace, draw(30) ? step : step - draw(3), at_ns);
		if (i % 9 == 0)
			fprintf(kept.all, "%lu %lu %lu %lu %lu %lu\n", pace.first_step, pace.first_ns, pace_duration_ns(&pace, step - draw(70)), pace_duration_ns(&pace, step),
				pace_step_ns(&pace, 1 + draw(PACE_STEPS + 2)), pace.firsts_ns[draw(PACE_FIRST)]);
	}
}

static void play_cells(void)
{
	struct cells cells;
	uint64_t step = 1, at_ns = 0;
	uint32_t ranks = 1 + draw(20);

	memset(&cells, 0, sizeof(cells));
	cells_open(&cells, draw(6) ? (size_t)(1 + draw(40)) * ranks * sizeof(struct cell) : 0);
	for (uint32_t i = 0; i < 700; i++) {
		uint64_t of = draw(12) ? step : step > 6 ? step - draw(6) : draw(3);
		struct cell *cell = cells_at(&cells, draw(ranks), of, at_ns);

		if (cell)
			cell->own_ms += (float)draw(50);
		if (draw(6) == 0) {
			struct cell_magnitude *magnitude = cells_magnitude_at(&cells, draw(CELLS_LINES + 1), of, at_ns);
			if (magnitude)
				magnitude->brought += (float)draw(9);
		}
		at_ns += draw(3) * 10 * MS;
		step += draw(8) == 0 ? 1 + (draw(30) == 0) * draw(9) : 0;
	}
	fprintf(kept.all, "%zu columns, %zu bytes of %zu, %lu changes\n", cells.count, cells.bytes, cells.limit, cells.changes);
	for (size_t i = 0; i < cells.count; i++) {
		const struct column *column = &cells.columns[i];

		fprintf(kept.all, "%lu-%lu %lu-%lu %lu:", column->step, column->last_step, column->from_ns, column->until_ns, column->changed);
		for (uint32_t k = 0; k < column->rank_count; k++)
			fprintf(kept.all, " %.6g", (double)column->cells[k].own_ms);
		for (uint32_t k = 0; k < column->line_count; k++)
			fprintf(kept.all, " %.6g", (double)column->magnitudes[k].brought);
		fprintf(kept.all, "\n");
	}
	cells_free(&cells);
}

static void play_votes(void)
{
	struct vote cast[RANKS];
	struct world_comm comm = { .size = (int32_t)draw(RANKS + 2) };
	struct votes votes = { .cast = cast, .count = draw(RANKS + 1) };
	uint32_t odd[RANKS], usual[RANKS], odd_count = 0, usual_count = 0;

	for (uint32_t i = 0; i < votes.count; i++)
		cast[i] = (struct vote){ .value = draw(4), .rank = (i * 7) % 13 };
	votes_count(&votes);
	bool majority = votes_have_majority(&votes, &comm);

	fprintf(kept.all, "%u: usual %lu by %u, %d", votes.count, votes.usual, votes.usual_count, majority);
	votes_split(&votes, draw(2) ? majority : false, odd, &odd_count, usual, &usual_count);
	for (uint32_t i = 0; i < odd_count; i++)
		fprintf(kept.all, " -%u", odd[i]);
	for (uint32_t i = 0; i < usual_count; i++)
		fprintf(kept.all, " %u", usual[i]);
	fprintf(kept.all, "\n");
}

static bool play_rules(unsigned int number)
{
	static void (*const plays[])(void) = { play_account, play_account, play_pace, play_levels, play_period, play_pace_notes, play_cells, play_votes };

	state = number + 1;
	for (int i = 0; i < DRAWS; i++)
		plays[number % 8]();
	return number < 63;
}

Test(rules_answers, about_drawn_numbers)
{
	kept_compare("rules", play_rules);
}
