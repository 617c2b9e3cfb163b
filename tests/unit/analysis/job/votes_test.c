/* SPDX-License-Identifier: MIT */
/* Which ranks have another value than most. */
#include <criterion/criterion.h>

#include "analysis/job/votes.h"

enum { VOTES = 6 };

static void expect_ranks(const uint32_t *ranks, uint32_t count, const uint32_t *expected, uint32_t expected_count,
			 const char *what)
{
	cr_assert_eq(count, expected_count, "%u are %s", count, what);
	for (uint32_t i = 0; i < count; i++)
		cr_expect_eq(ranks[i], expected[i], "%s: %u at %u", what, ranks[i], i);
}

/* Members of a communicator may be in any order: ranks are reported in ascending order all the same. */
static struct votes count(struct vote *cast)
{
	static const struct vote votes[VOTES] = { { 7, 5 }, { 3, 1 }, { 7, 4 }, { 9, 0 }, { 7, 2 }, { 7, 3 } };
	struct votes counted = { .cast = cast, .count = VOTES };

	for (int i = 0; i < VOTES; i++)
		cast[i] = votes[i];
	votes_count(&counted);
	return counted;
}

Test(votes, the_usual_value_is_that_of_most)
{
	static const uint32_t odd_ranks[] = { 0, 1 }, usual_ranks[] = { 2, 3, 4, 5 };
	struct vote cast[VOTES];
	struct votes votes = count(cast);
	uint32_t odd[VOTES], usual[VOTES], odd_count, usual_count;

	cr_expect_eq(votes.usual, 7);
	cr_expect_eq(votes.usual_count, 4);
	votes_split(&votes, true, odd, &odd_count, usual, &usual_count);
	expect_ranks(odd, odd_count, odd_ranks, 2, "odd");
	expect_ranks(usual, usual_count, usual_ranks, 4, "usual");
}

Test(votes, without_a_majority_all_are_odd)
{
	static const uint32_t all[] = { 0, 1, 2, 3, 4, 5 };
	struct vote cast[VOTES];
	struct votes votes = count(cast);
	uint32_t odd[VOTES], usual[VOTES], odd_count, usual_count;

	votes_split(&votes, false, odd, &odd_count, usual, &usual_count);
	expect_ranks(odd, odd_count, all, VOTES, "odd");
	cr_expect_eq(usual_count, 0);
}

Test(votes, ranks_that_were_never_heard_of_count_against_a_majority)
{
	static const struct {
		int32_t size;
		bool majority;
	} cases[] = { { 0, false }, { -1, false }, { 6, true }, { 7, true }, { 8, false }, { 9, false } };
	struct vote cast[VOTES];
	struct votes votes = count(cast);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world_comm comm = { .size = cases[i].size };
		cr_expect_eq(votes_have_majority(&votes, &comm), cases[i].majority, "4 of %d", cases[i].size);
	}
}
