/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "plugin/cost/budget.h"
#include "plugin/cost/cost.h"

static uint64_t ppm_of_a_second(uint64_t cost_ns)
{
	return cost_ns / 1000;
}

Test(cost, a_callback_stands_for_those_that_are_not_measured)
{
	cr_expect_eq(cost_of(100, COST_SAMPLE), 100 * COST_SAMPLE);
	cr_expect_eq(cost_of(50000, COST_SAMPLE), COST_CHARGE_NS);
	cr_expect_eq(cost_of(100, COST_SAMPLE_WITHOUT_DRIVER), 100 * COST_SAMPLE_WITHOUT_DRIVER);
}

Test(cost, a_callback_that_lost_its_processor_does_not_use_up_the_budget)
{
	static const uint32_t samples[] = { COST_SAMPLE, COST_SAMPLE_WITHOUT_DRIVER };

	for (int i = 0; i < 2; i++) {
		cr_expect_lt(ppm_of_a_second(cost_of(10000000, samples[i])), 50000, "10 ms, a scheduler's turn");
		cr_expect_geq(cost_of(10000000, samples[i]), 10000000, "and it counts");
	}
}

/* As if it had begun so long ago. */
static void time_one(struct cost_sums *sums, uint64_t took_ns)
{
	cost_add(sums, clock_ns() - took_ns, COST_SAMPLE);
}

/* A second's allowance is 2.5 ms; two of them after each other would be another case. */
Test(cost, one_that_lost_its_processor_spends_nothing_of_the_budget)
{
	struct cost_sums sums = { 0 };

	for (int i = 0; i < 100; i++)
		time_one(&sums, i % 2 ? 10000000 : 300);
	cr_expect_lt(sums.usual_ns, 100 * COST_SAMPLE * UINT64_C(20000), "%lu", (unsigned long)sums.usual_ns);
	cr_expect_gt(sums.own_ns, 50 * UINT64_C(10000000), "but it is reported: %lu", (unsigned long)sums.own_ns);
	sums = (struct cost_sums){ 0 };
	for (int i = 0; i < 2; i++)
		time_one(&sums, 10000000);
	cr_expect_leq(sums.usual_ns, COST_CHARGE_NS, "two in a row: %lu", (unsigned long)sums.usual_ns);
}

/* 2,000 callbacks in a second, each of 60 us: 12 % of it. */
Test(cost, callbacks_that_are_all_slow_do)
{
	struct cost_sums sums = { 0 };

	for (int i = 0; i < 2000 / COST_SAMPLE; i++)
		time_one(&sums, 60000);
	cr_expect_gt(ppm_of_a_second(sums.usual_ns), 90000);
}

Test(cost, one_callback_in_so_many_is_measured)
{
	static const uint32_t sample = COST_SAMPLE;
	int32_t calls = 0;
	int measured = 0;

	for (int i = 0; i < 10 * COST_SAMPLE; i++)
		measured += cost_is_due(&calls, &sample);
	cr_expect_eq(measured, 10);
}
