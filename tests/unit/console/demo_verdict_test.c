/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "console/demo_verdict.h"

static const struct scenario io = { .name = "io", .kind = "straggler", .cause = "io", .rank = 0 };
static const struct scenario healthy = { .name = "healthy", .rank = -1 };

#define FINDING(id, severity, ranks, cause)                                                                            \
	"{\"id\":\"" id "\",\"severity\":\"" severity "\",\"kind\":\"straggler\",\"ranks\":" ranks                     \
	",\"cause\":{\"class\":\"" cause "\"}}\n"

static void expect_verdict(const struct scenario *scenario, const char *lines, bool right, const char *part)
{
	struct demo_verdict verdict;
	FILE *file = fmemopen((char *)lines, strlen(lines), "r");

	demo_judge(&verdict, scenario, file);
	fclose(file);
	cr_expect_eq(verdict.right, right, "%s", verdict.text);
	cr_expect(strstr(verdict.text, part), "\"%s\" in \"%s\"", part, verdict.text);
}

Test(demo_verdict, rank_kind_and_cause_as_injected_are_right)
{
	expect_verdict(&io, FINDING("a", "warning", "[0]", "io"), true, "straggler, io, in rank 0: right");
}

Test(demo_verdict, the_last_revision_counts)
{
	expect_verdict(&io, FINDING("a", "warning", "[0]", "unknown") FINDING("a", "warning", "[0]", "io"), true,
		       "right");
	expect_verdict(&io, FINDING("a", "warning", "[0]", "io") FINDING("a", "warning", "[0]", "cpu"), false, "wrong");
}

Test(demo_verdict, any_other_rank_is_wrong_even_beside_the_right_one)
{
	expect_verdict(&io, FINDING("a", "warning", "[0]", "io") FINDING("b", "warning", "[3]", "io"), false,
		       "in rank 3: wrong");
	expect_verdict(&io, FINDING("a", "warning", "[0,1]", "io"), false, "in rank 0,1: wrong");
}

Test(demo_verdict, nothing_found_is_wrong_but_for_a_healthy_job)
{
	expect_verdict(&io, " ", false, "nothing: wrong");
	expect_verdict(&healthy, " ", true, "nothing: right");
	expect_verdict(&healthy, FINDING("a", "warning", "[0]", "io"), false, "wrong");
}

Test(demo_verdict, a_notice_does_not_count)
{
	expect_verdict(&healthy, FINDING("a", "notice", "[3]", "io"), true, "right");
	expect_verdict(&io, FINDING("a", "notice", "[0]", "io"), false, "nothing");
}

Test(demo_verdict, a_line_that_is_not_json_is_passed_over)
{
	expect_verdict(&io, "{\"id\n" FINDING("a", "warning", "[0]", "io"), true, "right");
}
