/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/known/instances.h"
#include "analysis/late/rows.h"
#include "analysis/measure/lateness.h"

enum { RANKS = 8, STEP_MS = 150, OPERATIONS = 20 };
#define MS UINT64_C(1000000)

/* Two stages of four replicas: 0 to 3 and 4 to 7; or all ranks in one group. */
static struct job job;
static struct rows rows;
static double own_ms[RANKS], unseen_ms[RANKS], noise_ms;
static int operations[RANKS]; /* that are seen in a step */
static uint64_t step, now_ns[RANKS];
static bool unnumbered; /* steps are known no longer */

static void add(bool point_to_point, uint32_t first, uint32_t by, uint32_t count)
{
	struct communicator *communicator = calloc(1, sizeof(*communicator));

	communicator->index = job.communicator_count;
	communicator->point_to_point = point_to_point;
	communicator->members = calloc(count, sizeof(*communicator->members));
	communicator->member_count = count;
	for (uint32_t i = 0; i < count; i++)
		communicator->members[i].rank = first + i * by;
	job.communicators[job.communicator_count++] = communicator;
}

static void begin(void)
{
	job = (struct job){ .rank_count = RANKS };
	job.communicators = calloc(16, sizeof(*job.communicators));
	rows = (struct rows){ .job = &job, .numbered = true };
	rows.numbered = true;
	rows_fit(&rows, STEP_MS * MS);
	step = 0;
	unnumbered = false;
	noise_ms = 3;
	for (int i = 0; i < RANKS; i++) {
		own_ms[i] = 80;
		unseen_ms[i] = 0;
		operations[i] = OPERATIONS;
		now_ns[i] = 1000 * MS;
	}
}

static void begin_flat(void)
{
	begin();
	add(false, 0, 1, RANKS);
}

static void begin_pipeline(void)
{
	begin();
	job.pipelined = true;
	for (uint32_t i = 0; i < 4; i++)
		add(true, i, 4, 2);
	add(false, 0, 1, 4);
	add(false, 4, 1, 4);
}

static void end(void)
{
	rows_free(&rows);
	for (uint32_t i = 0; i < job.communicator_count; i++) {
		free(job.communicators[i]->members);
		free(job.communicators[i]);
	}
	free(job.communicators);
}

static double largest_ms(void)
{
	double most_ms = 0;

	for (int i = 0; i < RANKS; i++)
		most_ms = fmax(most_ms, own_ms[i] + unseen_ms[i]);
	return most_ms;
}

/* All ranks end the step together; whoever works less waits. A little noise, so that nobody is exactly like another. */
static void play_step(void)
{
	double end_ms = largest_ms() + 30;

	step++;
	for (uint32_t i = 0; i < RANKS; i++) {
		double own = own_ms[i] + noise_ms * sin((double)step * (i + 1.3));
		uint64_t own_ns = (uint64_t)(own * 1e6), unseen_ns = (uint64_t)(unseen_ms[i] * 1e6);
		uint64_t all_ns = (uint64_t)(end_ms * 1e6);
		rows_begin_step(&rows, i, unnumbered ? 0 : step, now_ns[i]);
		rows_note(&rows, i, ANALYSIS_OWN, false, now_ns[i], now_ns[i] + own_ns);
		rows_note(&rows, i, ANALYSIS_UNSEEN, false, now_ns[i] + own_ns, now_ns[i] + own_ns + unseen_ns);
		rows_note(&rows, i, ANALYSIS_WAIT, true, now_ns[i] + own_ns + unseen_ns, now_ns[i] + all_ns);
		now_ns[i] += all_ns;
		for (int k = 0; k < operations[i]; k++)
			rows_note_operation(&rows, i, &(struct operation){ 0 }, 0);
	}
}

static void play(int steps)
{
	while (steps--)
		play_step();
}

static uint32_t suspects(void)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < RANKS; i++)
		found |= rows_suspect(&rows, i) ? 1u << i : 0;
	return found;
}

Test(rows, where_steps_are_numbered_no_longer_rows_are_as_much_time_again, .init = begin_flat, .fini = end)
{
	play(20);
	unnumbered = true;
	play(2 * ROWS_LOST);
	own_ms[5] += 60;
	play(100);
	cr_expect_eq(suspects(), 1u << 5);
	own_ms[5] -= 60;
	unnumbered = false;
	play(40);
	cr_expect_eq(suspects(), 0);
	own_ms[2] += 60;
	play(10);
	cr_expect_eq(suspects(), 1u << 2, "numbers that come again count");
}

Test(rows, a_rank_whose_work_becomes_longer_is_late_and_nobody_else, .init = begin_flat, .fini = end)
{
	play(14);
	cr_expect_eq(suspects(), 0);
	own_ms[5] += 45;
	play(8); /* a row is judged once all ranks have begun the next */
	cr_expect_eq(suspects(), 1u << 5);
	const struct rows_rank *rank = &rows.ranks[5];
	cr_expect_eq(rows_step(&rows, rank->since_row), 15);
	cr_expect_float_eq((double)rank->before_ns / 1e6, 110, 8);
	const struct row *row = &rank->rows[rank->late_row % ROWS_KEPT];
	cr_expect_float_eq(row->late_ms, 45, 8);
	cr_expect_float_eq(row->beyond_ms, 45, 12);
}

/* As where GPU progress was turned down for some steps, beginning with the one before the lateness. */
Test(rows, rows_that_are_not_whole_say_nothing_of_how_many_operations_a_rank_makes, .init = begin_flat, .fini = end)
{
	play(14);
	unseen_ms[5] = 60;
	operations[5] = OPERATIONS / 2;
	play(7);
	unseen_ms[5] = 0;
	operations[5] = OPERATIONS;
	own_ms[5] += 45;
	play(8);
	cr_expect_eq(suspects(), 1u << 5);
}

Test(rows, five_rows_in_time_acquit, .init = begin_flat, .fini = end)
{
	play(14);
	own_ms[5] += 45;
	play(10);
	own_ms[5] -= 45;
	play(5);
	cr_expect_eq(suspects(), 1u << 5);
	play(2);
	cr_expect_eq(suspects(), 0);
}

Test(rows, who_works_longer_and_waits_as_long_is_not_late, .init = begin_flat, .fini = end)
{
	play(14);
	own_ms[2] += 45;
	for (int i = 0; i < RANKS; i++)
		own_ms[i] += i == 2 ? 0 : 45; /* all do */
	play(20);
	cr_expect_eq(suspects(), 0);
}

Test(rows, unseen_time_is_no_work, .init = begin_flat, .fini = end)
{
	play(14);
	unseen_ms[5] = 45;
	play(20);
	cr_expect_eq(suspects(), 0);
}

Test(rows, replicas_of_a_stage_are_compared_with_each_other, .init = begin_pipeline, .fini = end)
{
	play(14);
	own_ms[6] += 45;
	play(9);
	cr_expect_eq(suspects(), 1u << 6);
	cr_expect_not(rows.judge.ranks[6].of_stage);
}

Test(rows, a_stage_is_compared_with_its_own_past, .init = begin_pipeline, .fini = end)
{
	for (int i = 0; i < 4; i++)
		own_ms[i] = 40; /* the first stage has always had less to do */
	play(14);
	cr_expect_eq(suspects(), 0);
	for (int i = 4; i < RANKS; i++)
		own_ms[i] += 45;
	play(9);
	cr_expect_eq(suspects(), 0xf0u);
	cr_expect(rows.judge.ranks[4].of_stage && rows.judge.ranks[7].of_stage);
	cr_expect_eq(rows.judge.ranks[7].stage, 4);
}

/* Of two, the one that works less than usual shows nothing of how work varies, if it is what both are measured by. */
Test(rows, a_stage_whose_work_varies_from_step_to_step_is_still_found, .init = begin_pipeline, .fini = end)
{
	noise_ms = 14;
	play(16);
	cr_expect_eq(suspects(), 0);
	for (int i = 4; i < RANKS; i++)
		own_ms[i] += 55;
	play(16);
	cr_expect_eq(suspects(), 0xf0, "%x", suspects());
}

Test(rows, where_all_stages_work_longer_none_is_late, .init = begin_pipeline, .fini = end)
{
	play(14);
	for (int i = 0; i < RANKS; i++)
		own_ms[i] *= 1.6; /* longer sequences */
	play(30);
	cr_expect_eq(suspects(), 0);
}

Test(rows, a_stage_beside_one_that_became_quicker_is_not_late, .init = begin_pipeline, .fini = end)
{
	play(14);
	for (int i = 0; i < 4; i++)
		own_ms[i] *= 0.5;
	play(30);
	cr_expect_eq(suspects(), 0);
}

Test(rows, steps_that_are_short_share_a_row, .init = begin_flat, .fini = end)
{
	rows_free(&rows);
	rows = (struct rows){ .job = &job, .numbered = true };
	rows_fit(&rows, 30 * MS);
	cr_expect_eq(rows.steps, 4);
	rows_fit(&rows, 60 * MS);
	cr_expect_eq(rows.steps, 4, "as long as a row does not last too long");
	rows_fit(&rows, 150 * MS);
	cr_expect_eq(rows.steps, 1);
}

Test(rows, steps_that_are_numbered_anew_begin_anew, .init = begin_flat, .fini = end)
{
	play(200);
	step = 0;
	play(14);
	own_ms[5] += 45;
	play(8);
	cr_expect_eq(suspects(), 1u << 5);
}

/* Operations that nobody numbers, many in each row of time. */
Test(rows, without_steps_are_cut_by_time, .init = begin_flat, .fini = end)
{
	rows_free(&rows);
	rows = (struct rows){ .job = &job, .judge.mostly = true };
	for (int i = 0; i < RANKS; i++)
		own_ms[i] = 8;
	noise_ms = 0.3;
	play(14 * 13);
	cr_expect_eq(rows.steps, 0);
	cr_expect_eq(suspects(), 0);
	own_ms[5] += 9;
	play(48 * 11);
	cr_expect_eq(suspects(), 1u << 5);
	cr_expect_eq(rows_step(&rows, rows.ranks[5].since_row), 0, "no step is known");
	cr_expect_eq(rows.ranks[5].before_ns, 0, "rows of time never become longer");
	own_ms[5] -= 9;
	play(12 * 13);
	cr_expect_eq(suspects(), 0);
}

Test(rows, of_time_are_as_long_as_what_repeats, .init = begin_flat, .fini = end)
{
	rows_free(&rows);
	rows = (struct rows){ .job = &job };
	cr_expect_eq(rows_last_ns(&rows), ROWS_TIME_NS);
	rows_fit(&rows, 300 * MS);
	cr_expect_eq(rows_last_ns(&rows), 600 * MS);
	rows_fit(&rows, 2000 * MS);
	cr_expect_eq(rows_last_ns(&rows), 2000 * MS);
	rows_fit(&rows, 2400 * MS);
	cr_expect_eq(rows_last_ns(&rows), 2000 * MS, "less than a quarter longer");
	rows_fit(&rows, 2600 * MS);
	cr_expect_eq(rows_last_ns(&rows), 2600 * MS);
	rows_begin_step(&rows, 0, 1, 1);
	cr_expect_eq(rows.steps, 1, "once steps have numbers, a row is one, at once");
	cr_expect_eq(rows.ranks[0].number, 2);
}

/* Times of a damaged box. */
Test(rows, take_any_time, .init = begin_flat, .fini = end)
{
	static const uint64_t times[] = { 0, 1, 4000000000, INT64_MAX / 2, INT64_MAX, UINT64_MAX - 1, UINT64_MAX };
	const struct operation operation = { .done_ns = UINT64_MAX };

	rows_free(&rows);
	rows = (struct rows){ .job = &job };
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		for (size_t k = 0; k < sizeof(times) / sizeof(*times); k++) {
			rows_note(&rows, 3, ANALYSIS_OWN, false, times[i], times[k]);
			rows_note_launch(&rows, 3, times[i], times[i], times[k]);
			rows_note_operation(&rows, 3, &operation, times[i]);
		}
}

/* The host's: it launched late. The device's: it had been launched well before it came. What is near either is
 * neither's.
 */
Test(rows, own_work_is_the_hosts_or_the_devices_by_when_it_was_launched, .init = begin_flat, .fini = end)
{
	enum { NOISE = LATENESS_NOISE_NS, LONG = 25 * NOISE };
	static const struct {
		int64_t launch_ns, until_ns; /* after own work began */
		uint64_t host_ns, device_ns;
	} cases[] = {
		{ NOISE + 1, LONG, NOISE + 1, 0 },
		{ LONG / 2, LONG, LONG / 2, 0 },
		{ LONG + 1, LONG, LONG, 0 },
		{ NOISE, LONG, 0, LONG },
		{ 0, LONG, 0, LONG },
		{ -1, LONG, 0, LONG },
		{ -LONG, LONG, 0, LONG },
		{ NOISE, 3 * NOISE, 0, 0 },
		{ NOISE, 3 * NOISE + 1, 0, 3 * NOISE + 1 },
		{ NOISE, 2 * NOISE, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t from_ns = 1000 * MS;
		rows_begin_step(&rows, 0, i + 1, from_ns);
		rows_note_launch(&rows, 0, from_ns, from_ns + (uint64_t)cases[i].launch_ns,
				 from_ns + (uint64_t)cases[i].until_ns);
		const struct row *row = &rows.ranks[0].rows[rows.ranks[0].number % ROWS_KEPT];
		cr_expect_eq(row->host_ns, cases[i].host_ns, "%zu: %lu", i, row->host_ns);
		cr_expect_eq(row->device_ns, cases[i].device_ns, "%zu: %lu", i, row->device_ns);
	}
}
