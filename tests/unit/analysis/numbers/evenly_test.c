/* SPDX-License-Identifier: MIT */
/* When a rank is late evenly, and by far more than another one: each limit from both sides. */
#include <criterion/criterion.h>

#include "analysis/numbers/evenly.h"

Test(evenly, the_smaller_of_working_longer_and_being_inside_less_counts_either_way)
{
	static const struct {
		double own, inside, smaller;
	} cases[] = { { 3, 2, 2 }, { 2, 3, 2 }, { -3, -2, -2 }, { -2, -3, -2 }, { 3, -2, 0 }, { -3, 2, 0 }, { 0, 2, 0 }, { 2, 0, 0 }, { 0, -2, 0 }, { -2, 0, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect_float_eq(evenly_smaller(cases[i].own, cases[i].inside), cases[i].smaller, 1e-12, "%g, %g", cases[i].own, cases[i].inside);
}

Test(evenly, the_part_in_which_it_was_late_by_least_decides)
{
	for (int i = 0; i < EVENLY_PARTS; i++) {
		struct evenly rank = { { 0.02, 0.02, 0.02, 0.02 } };
		rank.shares[i] = 0.0125;
		cr_expect(evenly_is_late(&rank), "part %d", i);
		rank.shares[i] = 0.0124;
		cr_expect_not(evenly_is_late(&rank), "part %d", i);
	}
}

Test(evenly, parts_are_alike_where_none_is_more_than_twice_another)
{
	for (int i = 0; i < EVENLY_PARTS; i++) {
		struct evenly rank = { { 0.02, 0.02, 0.02, 0.02 } };
		rank.shares[i] = 0.04;
		cr_expect(evenly_is_alike(&rank), "part %d", i);
		rank.shares[i] = 0.0401;
		cr_expect_not(evenly_is_alike(&rank), "part %d", i);
		rank.shares[i] = 0.01;
		cr_expect(evenly_is_alike(&rank), "part %d", i);
		rank.shares[i] = 0.0099;
		cr_expect_not(evenly_is_alike(&rank), "part %d", i);
	}
}

/* Late or early in any one part. */
Test(evenly, a_rank_is_in_each_part_three_times_as_late_as_another_one_in_any)
{
	const struct evenly rank = { { 0.06, 0.03, 0.06, 0.06 } };

	for (int i = 0; i < EVENLY_PARTS; i++)
		for (int sign = -1; sign <= 1; sign += 2) {
			struct evenly other = { { 0 } };
			other.shares[i] = sign * 0.00999;
			cr_expect(evenly_is_far_from(&rank, &other), "part %d, %d", i, sign);
			other.shares[i] = sign * 0.01001;
			cr_expect_not(evenly_is_far_from(&rank, &other), "part %d, %d", i, sign);
		}
}

/* Noise that does not last is later in some parts and earlier in others. */
Test(evenly, or_four_times_as_late_on_average_and_1_75_times_in_each_part)
{
	const struct evenly rank = { { 0.035, 0.0175, 0.0235, 0.024 } }; /* 0.025 on average */

	for (int i = 0; i < EVENLY_PARTS; i++)
		for (int sign = -1; sign <= 1; sign += 2) {
			struct evenly other = { { 0 } };
			other.shares[i] = sign * 0.00999;
			cr_expect(evenly_is_far_on_average(&rank, &other), "part %d, %d", i, sign);
			other.shares[i] = sign * 0.01001;
			cr_expect_not(evenly_is_far_on_average(&rank, &other), "part %d, %d", i, sign);
			for (int k = 0; k < EVENLY_PARTS; k++)
				other.shares[k] = sign * 0.006;
			other.shares[i] = sign * 0.00699;
			cr_expect(evenly_is_far_on_average(&rank, &other), "on average, %d, %d", i, sign);
			other.shares[i] = sign * 0.00701;
			cr_expect_not(evenly_is_far_on_average(&rank, &other), "on average, %d, %d", i, sign);
			other.shares[(i + 1) % EVENLY_PARTS] = sign * -0.006;
			cr_expect(evenly_is_far_on_average(&rank, &other), "they cancel out, %d, %d", i, sign);
		}
}
