/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "plugin/gpu/scan_budget.h"

#define SECOND UINT64_C(1000000000)

static struct scan_budget budget;
static uint64_t now, cost;

/* `seconds` of a job of which each operation's scans would take `ppm` of the time, if all were scanned. */
static uint32_t run(int seconds, uint64_t ppm)
{
	for (int i = 0; i < seconds; i++) {
		now += SECOND;
		cost += ppm * 1000 / budget.every;
		scan_budget_judge(&budget, now, cost);
	}
	return budget.every;
}

static void begin(void)
{
	now = SECOND;
	cost = 0;
	scan_budget_open(&budget, 2500, SCAN_BUDGET_DENSE_PPM, now, cost);
}

Test(scan_budget, what_costs_little_is_scanned_always)
{
	begin();
	cr_expect_eq(run(1000, 2000), 1);
}

Test(scan_budget, the_first_five_minutes_are_dense)
{
	begin();
	cr_expect_eq(run(299, 40000), 1, "4 %% of the time");
	run(10, 40000);
	cr_expect_eq(budget.every, 16, "4 %% / 16 = 0.25 %%");
}

/* What the user has said holds at once. */
static void begin_with_given(void)
{
	now = SECOND;
	cost = 0;
	scan_budget_open(&budget, 2500, 2500, now, cost);
}

Test(scan_budget, a_budget_that_was_given_holds_from_the_first_second)
{
	begin_with_given();
	cr_expect_eq(run(1, 40000), 16, "4 %% / 16 = 0.25 %%");
}

Test(scan_budget, a_second_that_has_spent_its_allowance_is_not_waited_for)
{
	begin_with_given();
	for (int i = 0; i < 3; i++) {
		cr_expect_eq(scan_budget_judge(&budget, now += SECOND / 250, cost += 1000000), 1, "1 ms of 2.5");
		cr_expect_eq(scan_budget_judge(&budget, now += SECOND / 250, cost += 1000000), 1);
		cr_expect_eq(scan_budget_judge(&budget, now += SECOND / 250, cost += 1000000), 2);
		begin_with_given();
	}
}

Test(scan_budget, what_is_spent_in_a_burst_once_a_second_is_no_more_than_it_is)
{
	begin_with_given();
	for (int i = 0; i < 20; i++) {
		cr_expect_eq(scan_budget_judge(&budget, now += SECOND / 250, cost += 1200000), 1, "1.2 ms of 2.5");
		now += SECOND - SECOND / 250;
		cr_expect_eq(scan_budget_judge(&budget, now, cost), 1);
	}
}

Test(scan_budget, even_then_there_is_a_limit)
{
	begin();
	cr_expect_eq(run(3, 400000), 8, "40 %% / 8 = 5 %%");
}

Test(scan_budget, it_backs_off_at_once_and_comes_back_step_by_step)
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

Test(scan_budget, it_does_not_swing)
{
	uint32_t changes = 0;

	begin();
	run(400, 60000);
	uint32_t every = budget.every;
	for (int i = 0; i < 1000; i++) {
		changes += run(1, 60000) != every;
		every = budget.every;
	}
	cr_expect_eq(changes, 0);
}

Test(scan_budget, a_first_hit_makes_it_dense_and_hits_that_never_stop_do_not)
{
	begin();
	run(310, 40000);
	cr_expect_eq(budget.every, 16);
	scan_budget_hit(&budget, now);
	cr_expect_eq(budget.every, 1);
	for (int i = 0; i < 299; i++) {
		scan_budget_hit(&budget, now);
		run(1, 40000);
	}
	cr_expect_eq(budget.every, 1);
	for (int i = 0; i < 100; i++) {
		run(1, 40000);
		scan_budget_hit(&budget, now);
	}
	cr_expect_eq(budget.every, 16);
	run(301, 40000);
	scan_budget_hit(&budget, now);
	cr_expect_eq(budget.every, 1, "after five clean minutes it is news again");
}

Test(scan_budget, what_cannot_be_afforded_at_all_stays_at_the_sparsest)
{
	begin();
	for (int i = 0; i < 1000; i++) {
		now += SECOND;
		cost += SECOND / 10; /* 10 % whatever is scanned */
		scan_budget_judge(&budget, now, cost);
	}
	cr_expect_eq(budget.every, SCAN_BUDGET_EVERY_MAX);
	cr_expect_eq(budget.cost_ppm, 100000);
}
