/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "plugin/cost/budget.h"
#include "plugin/cost/sampling.h"

#define SECOND UINT64_C(1000000000)
#define LOOK   (SECOND / 250) /* how often the plugin's thread judges */

static struct budget budget;
static struct budget_cost cost;
static uint64_t now;

static void spend(uint64_t scans, uint64_t progress, uint64_t other)
{
	cost.scans += scans;
	cost.progress += progress;
	cost.total += scans + progress + other;
}

/* `seconds` of a job of which each operation's scans would take `ppm` of the time, if all were scanned. */
static uint32_t run(int seconds, uint64_t ppm)
{
	for (int i = 0; i < seconds; i++) {
		now += SECOND;
		spend(ppm * 1000 / budget.scan_every, 0, 0);
		budget_judge(&budget, now, &cost);
	}
	return budget.scan_every;
}

static uint32_t look(uint64_t scans)
{
	now += LOOK;
	spend(scans, 0, 0);
	budget_judge(&budget, now, &cost);
	return budget.scan_every;
}

static void begin_with(uint32_t ppm, uint64_t first_ns)
{
	now = SECOND;
	cost = (struct budget_cost){ 0 };
	budget_open(&budget, ppm, first_ns, now, &cost);
}

static void begin(void)
{
	begin_with(2500, 0);
}

Test(budget, what_costs_little_is_scanned_always)
{
	begin();
	cr_expect_eq(run(1000, 2000), 1);
}

Test(budget, the_budget_holds_from_the_first_second)
{
	begin();
	cr_expect_eq(run(1, 40000), 16, "4 %% / 16 = 0.25 %%");
}

/* A loop whose operations would all be scanned or followed, and that costs so much of the time then. */
static void loop(uint64_t ppm, bool progress)
{
	uint64_t looks = SECOND / LOOK, whole = LOOK / 1000000 * ppm;

	begin();
	for (uint64_t i = 0; i < looks; i++) {
		now += LOOK;
		if (progress)
			spend(0, whole / budget.progress_every, 0);
		else
			spend(whole / budget.scan_every, 0, 0);
		budget_judge(&budget, now, &cost);
	}
}

Test(budget, no_loop_spends_more_than_the_allowance_of_its_first_second)
{
	for (uint64_t ppm = 3000; ppm <= 500000; ppm = ppm * 3 / 2) {
		for (int progress = 0; progress < 2; progress++) {
			loop(ppm, progress);
			/* What is spent until the first look is nobody's to save. */
			uint64_t unseen = ppm * (LOOK / 1000000);
			cr_expect(cost.total < 2500000 * 5 / 4 + unseen, "%lu ppm: %lu us in the first second", ppm,
				  cost.total / 1000);
		}
	}
}

Test(budget, a_second_that_has_spent_half_of_its_allowance_too_fast_is_not_waited_for)
{
	begin();
	cr_expect_eq(look(1000000), 1, "1 ms of 2.5");
	cr_expect_eq(look(1000000), 2, "more than half");
	cr_expect_eq(look(100000), 2, "not yet half of the rest");
	cr_expect_eq(look(200000), 4);
}

Test(budget, what_is_spent_in_a_burst_once_a_second_is_no_more_than_it_is)
{
	begin();
	for (int i = 0; i < 20; i++) {
		cr_expect_eq(look(1200000), 1, "1.2 ms of 2.5");
		now += SECOND - 2 * LOOK;
		cr_expect_eq(look(0), 1);
	}
}

Test(budget, a_steady_cost_below_the_limit_is_left_alone)
{
	begin();
	for (int i = 0; i < 5000; i++)
		cr_assert_eq(look(2400 * (LOOK / 1000000)), 1, "0.24 %%");
}

Test(budget, it_backs_off_at_once_and_comes_back_step_by_step)
{
	begin();
	run(400, 2000);
	cr_expect_eq(run(1, 200000), 128, "20 %% / 80 at least");
	uint32_t every = 128;
	for (int i = 0; i < 7; i++) {
		cr_expect_eq(run(4, 100), every);
		every /= 2;
		cr_expect_eq(run(1, 100), every);
	}
	cr_expect_eq(run(100, 100), 1);
}

Test(budget, it_does_not_swing)
{
	uint32_t changes = 0;

	begin();
	run(400, 60000);
	uint32_t every = budget.scan_every;
	for (int i = 0; i < 1000; i++) {
		changes += run(1, 60000) != every;
		every = budget.scan_every;
	}
	cr_expect_eq(changes, 0);
}

static void second(uint64_t scans, uint64_t progress, uint64_t other)
{
	now += SECOND;
	spend(scans, progress, other);
	budget_judge(&budget, now, &cost);
}

Test(budget, scans_are_turned_down_before_progress)
{
	begin();
	second(1000000, 5000000, 0);
	cr_expect_eq(budget.scan_every, 4, "0.6 %% in all");
	cr_expect_eq(budget.progress_every, 1);
	second(300000, 5000000, 0);
	cr_expect_eq(budget.scan_every, 4, "what they cost is less than an eighth of the limit");
	cr_expect_eq(budget.progress_every, 4);
}

/* A second in which so many small operations in a row come, and each that has progress costs what it may. */
static void second_of_small(uint64_t operations)
{
	uint64_t followed = operations / budget.small_every;

	cost.left_out += operations - followed;
	second(0, followed * BUDGET_FOLLOWED_NS, 0);
}

Test(budget, all_small_operations_have_progress_where_the_budget_pays_for_them)
{
	begin();
	cr_expect_eq(budget.small_every, SAMPLING_SMALL_EVERY);
	second_of_small(400);
	cr_expect_eq(budget.small_every, 1, "400 a second: 0.2 %% of the time");
	for (int i = 0; i < 100; i++)
		second_of_small(400);
	cr_expect_eq(budget.small_every, 1, "and it stays so");
	begin();
	for (int i = 0; i < 10; i++) {
		second_of_small(1600);
		cr_expect_eq(budget.small_every, 4, "one in four of 1,600 a second, from the first second on");
	}
}

static void look_at_small(int looks, uint64_t operations)
{
	for (int i = 0; i < looks; i++) {
		cost.left_out += operations;
		look(0);
	}
}

/* What steps were like before a fault is seen where that comes within seconds, too. */
Test(budget, an_eighth_of_a_second_shows_how_many_small_operations_come)
{
	begin_with(2500, SECOND);
	look_at_small(100, 0);
	look_at_small(32, 1);
	cr_expect_eq(budget.small_every, SAMPLING_SMALL_EVERY, "0.124 s since the first one was seen");
	look_at_small(1, 1);
	cr_expect_eq(budget.small_every, 1, "250 a second");
	begin_with(2500, SECOND);
	look_at_small(100, 200);
	cr_expect_eq(budget.small_every, SAMPLING_SMALL_EVERY, "50,000 a second");
	begin();
	look_at_small(100, 1);
	cr_expect_eq(budget.small_every, SAMPLING_SMALL_EVERY, "who has said what may be spent");
}

Test(budget, a_loop_of_small_operations_is_not_slowed)
{
	begin();
	for (int i = 0; i < 100; i++)
		second_of_small(50000);
	cr_expect_eq(budget.small_every, SAMPLING_SMALL_EVERY);
	cr_expect_gt(budget.progress_every, SAMPLING_SMALL_EVERY, "of 50,000 a second not even one in sixteen is paid for");
}

Test(budget, small_operations_lose_their_progress_before_large_ones_do)
{
	begin();
	budget.small_every = 1;
	second(0, 3000000, 0);
	cr_expect_eq(budget.small_every, 2);
	cr_expect_eq(budget.progress_every, 1);
}

Test(budget, progress_comes_back_before_scans)
{
	begin();
	second(0, 5000000, 0);
	second(5000000, 0, 0);
	cr_expect_eq(budget.progress_every, 2);
	cr_expect_eq(budget.scan_every, 2);
	for (int i = 0; i < 5; i++)
		second(0, 0, 0);
	cr_expect_eq(budget.progress_every, 1);
	cr_expect_eq(budget.scan_every, 2);
	for (int i = 0; i < 5; i++)
		second(0, 0, 0);
	cr_expect_eq(budget.scan_every, 1);
}

Test(budget, what_neither_of_them_costs_turns_neither_down)
{
	begin();
	for (int i = 0; i < 100; i++)
		second(200000, 200000, SECOND / 10);
	cr_expect_eq(budget.scan_every, 1);
	cr_expect_eq(budget.progress_every, 1);
	cr_expect_eq(budget.cost_ppm, 100400, "and it is said");
}

Test(budget, what_cannot_be_afforded_at_all_stays_at_the_sparsest)
{
	begin();
	for (int i = 0; i < 1000; i++)
		second(SECOND / 10, 0, 0); /* whatever is scanned */
	cr_expect_eq(budget.scan_every, BUDGET_EVERY_MAX);
	cr_expect_eq(budget.progress_every, 1);
	cr_expect_eq(budget.cost_ppm, 100000);
}

Test(budget, nothing_may_be_spent)
{
	begin_with(0, 0);
	for (int i = 0; i < 100; i++)
		second(1000000 / budget.scan_every, 1000000 / budget.progress_every, 0);
	cr_expect_geq(budget.scan_every, 1 << 10);
	cr_expect_geq(budget.progress_every, 1 << 10);
}

/* What is still in flight when all has been spent comes in small pieces: it is no reason to give up everything. */
Test(budget, a_trickle_behind_the_allowance_turns_little_down)
{
	begin();
	look(2600000);
	uint32_t every = look(0);
	for (int i = 0; i < 100; i++)
		look(1000); /* 0.1 ms in all, a twenty-fifth of the allowance */
	cr_expect_eq(budget.scan_every, every);
	for (int i = 0; i < 10; i++)
		look(50000);
	cr_expect_gt(budget.scan_every, every, "more than a trickle");
}

Test(budget, what_can_be_turned_down_no_further_leaves_it_to_the_other)
{
	begin();
	budget.scan_every = BUDGET_EVERY_MAX;
	second(9000000, 1000000, 0);
	cr_expect_eq(budget.scan_every, BUDGET_EVERY_MAX);
	cr_expect_eq(budget.progress_every, 4, "1 %% of the time in all");
}

Test(budget, the_limit_itself_is_allowed_and_what_is_above_is_not)
{
	begin();
	second(2500000, 0, 0);
	cr_expect_eq(budget.scan_every, 1);
	cr_expect_eq(budget.cost_ppm, 2500);
	second(2501000, 0, 0);
	cr_expect_eq(budget.scan_every, 2);
	cr_expect_eq(budget.cost_ppm, 2501);
}

Test(budget, a_second_lasts_a_second)
{
	begin();
	now += SECOND - 1;
	spend(2000000, 0, 0);
	budget_judge(&budget, now, &cost);
	cr_expect_eq(budget.cost_ppm, 0, "it is not over");
	now += 1;
	budget_judge(&budget, now, &cost);
	cr_expect_eq(budget.cost_ppm, 2000);
	now += 2 * SECOND;
	spend(2000000, 0, 0);
	budget_judge(&budget, now, &cost);
	cr_expect_eq(budget.cost_ppm, 1000, "a second that was longer");
}

Test(budget, what_spends_all_of_a_second_is_turned_down_twice_at_once)
{
	begin();
	cr_expect_eq(look(2499000), 2, "not all");
	cr_expect_eq(look(1000), 2, "and little more");
	begin();
	cr_expect_eq(look(2500000), 4, "nothing is left for the rest of the second");
	cr_expect_eq(budget.cost_ppm, 2500);
	begin();
	cr_expect_eq(look(20000000), 64, "eight times the allowance: three times");
	begin();
	cr_expect_eq(look(20100000), 256, "and more than that");
}

Test(budget, the_next_turning_down_comes_at_half_of_what_is_left_but_not_for_a_trickle)
{
	begin();
	cr_expect_eq(budget.next_ppm, 1250);
	look(1250000);
	cr_expect_eq(budget.scan_every, 1, "half");
	look(1000);
	cr_expect_eq(budget.scan_every, 2, "more than half");
	cr_expect_eq(budget.next_ppm, 1251 + (2500 - 1251) / 2 + 1);
	look(749000 + 400000);
	cr_expect_eq(budget.scan_every, 4);
	cr_expect_eq(budget.next_ppm, 2400 + 2500 / 16 + 1, "a sixteenth of the limit at least");
	look(1000000);
	cr_expect_eq(budget.next_ppm, 3400 + 2500 / 16 + 1);
}

Test(budget, five_calm_seconds_in_a_row_bring_back_one_step)
{
	begin();
	second(5000000, 0, 0);
	second(5000000, 0, 0);
	cr_expect_eq(budget.scan_every, 4);
	for (int i = 0; i < 20; i++)
		second(625000, 0, 0);
	cr_expect_eq(budget.scan_every, 4, "a quarter of the limit is not calm");
	for (int i = 0; i < 4; i++)
		second(624000, 0, 0);
	second(625000, 0, 0);
	for (int i = 0; i < 4; i++)
		second(624000, 0, 0);
	cr_expect_eq(budget.scan_every, 4, "not in a row");
	second(624000, 0, 0);
	cr_expect_eq(budget.scan_every, 2);
	for (int i = 0; i < 4; i++)
		second(0, 0, 0);
	cr_expect_eq(budget.scan_every, 2, "and five more for the next");
	second(0, 0, 0);
	cr_expect_eq(budget.scan_every, 1);
	for (int i = 0; i < 10; i++)
		second(0, 0, 0);
	cr_expect_eq(budget.scan_every, 1, "there is nothing denser than all");
}

Test(budget, what_takes_less_than_an_eighth_of_the_limit_is_not_turned_down)
{
	begin();
	second(311000, 0, 3000000);
	cr_expect_eq(budget.scan_every, 1);
	second(312000, 0, 3000000);
	cr_expect_eq(budget.scan_every, 2, "0.33 %% against 0.25 %%");
	second(0, 311000, 3000000);
	cr_expect_eq(budget.progress_every, 1);
	second(0, 312000, 3000000);
	cr_expect_eq(budget.progress_every, 2);
	second(400000, 400000, 3000000);
	cr_expect_eq(budget.scan_every, 4, "of two that cost the same, scans");
	cr_expect_eq(budget.progress_every, 2);
}

Test(budget, nothing_is_sparser_than_the_sparsest)
{
	begin();
	budget.scan_every = BUDGET_EVERY_MAX / 4;
	cr_expect_eq(look(2500000), BUDGET_EVERY_MAX);
	begin();
	budget.scan_every = BUDGET_EVERY_MAX / 2;
	cr_expect_eq(look(20000000), BUDGET_EVERY_MAX);
	begin();
	budget.scan_every = budget.progress_every = BUDGET_EVERY_MAX;
	second(9000000, 9000000, 0);
	cr_expect_eq(budget.scan_every, BUDGET_EVERY_MAX);
	cr_expect_eq(budget.progress_every, BUDGET_EVERY_MAX);
	cr_expect_eq(budget.cost_ppm, 18000);
}

/* So many scans of first operations, and what else the second costs. */
static void second_with_first(uint64_t first, uint64_t scans)
{
	cost.first += first;
	second(first + scans, 0, 0);
}

Test(budget, first_operations_cost_nothing_else_until_their_sum_is_spent)
{
	begin_with(2500, 100000000);
	second_with_first(60000000, 0);
	cr_expect_eq(budget.scan_every, 1, "6 %% of the time");
	cr_expect_eq(budget.cost_ppm, 60000, "and it is said");
	cr_expect(budget_has_first(&budget));
	second_with_first(39000000, 2500000);
	cr_expect_eq(budget.scan_every, 1, "others may take as much as without them");
	cr_expect(budget_has_first(&budget));
	second_with_first(1000000 + 2500000, 0);
	cr_expect_not(budget_has_first(&budget));
	cr_expect_eq(budget.scan_every, 1, "what is beyond the sum is like any other, and within the limit");
	second_with_first(2501000, 0);
	cr_expect_eq(budget.scan_every, 2);
	cr_expect_eq(budget.cost_ppm, 2501);
}

Test(budget, of_first_operations_beyond_the_others_allowance_only_their_sum_is_paid)
{
	begin_with(2500, 100000000);
	second_with_first(50000000, 2501000);
	cr_expect_eq(budget.scan_every, 2, "others are turned down as ever");
	cr_expect_eq(budget.cost_ppm, 52501);
	second_with_first(150000000, 0);
	cr_expect_eq(budget.scan_every, 128, "10 %% beyond the sum, and 4 x 0.25 %%: 64 times");
}

Test(budget, the_sum_is_spent_once)
{
	uint64_t spent = 0;

	begin_with(2500, SECOND);
	for (int i = 0; i < 7200; i++) {
		uint64_t whole = 40000000, one = budget_has_first(&budget) ? whole : whole / budget.scan_every;

		spent += one;
		second_with_first(one, 0);
	}
	cr_expect_geq(spent, SECOND);
	cr_expect_leq(spent, SECOND + 7200 * UINT64_C(2500000) + 40000000);
}
