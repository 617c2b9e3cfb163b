/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "feed/unfinished.h"

static void add(struct unfinished *unfinished, uint64_t claim, uint32_t known)
{
	cr_assert_eq(unfinished_add(unfinished, &(struct unfinished_operation){ .claim = claim, .known = known }), 0);
}

Test(unfinished, all_are_kept_in_the_order_in_which_they_came)
{
	struct unfinished unfinished = { 0 };

	for (uint64_t i = 0; i < 1000; i++)
		add(&unfinished, 2 * i, (uint32_t)i);
	cr_assert_eq(unfinished.count, 1000);
	for (uint64_t i = 0; i < 1000; i++) {
		cr_expect_eq(unfinished.operations[i].claim, 2 * i);
		cr_expect_eq(unfinished.operations[i].known, i);
	}
	unfinished_order(&unfinished);
	cr_expect_eq(unfinished.count, 1000, "nothing is there twice");
	unfinished_free(&unfinished);
	cr_expect_eq(unfinished.count, 0);
	cr_expect_null(unfinished.operations);
}

Test(unfinished, they_are_ordered_by_claim_and_of_one_claim_what_was_passed_on_stays)
{
	static const struct {
		uint64_t claim;
		uint32_t known;
	} given[] = { { 7, 1 }, { 3, 0 }, { UINT64_MAX, 0 }, { 3, 5 }, { 1, 0 }, { 7, 0 }, { 3, 0 } },
	  expected[] = { { 1, 0 }, { 3, 5 }, { 7, 1 }, { UINT64_MAX, 0 } };
	struct unfinished unfinished = { 0 };

	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++)
		add(&unfinished, given[i].claim, given[i].known);
	unfinished_order(&unfinished);
	cr_assert_eq(unfinished.count, 4);
	for (size_t i = 0; i < 4; i++) {
		cr_expect_eq(unfinished.operations[i].claim, expected[i].claim);
		cr_expect_eq(unfinished.operations[i].known, expected[i].known, "claim %lu", expected[i].claim);
	}
	unfinished_free(&unfinished);
}

Test(unfinished, nothing_is_in_order)
{
	struct unfinished unfinished = { 0 };

	unfinished_order(&unfinished);
	cr_expect_eq(unfinished.count, 0);
	unfinished_free(&unfinished);
}
