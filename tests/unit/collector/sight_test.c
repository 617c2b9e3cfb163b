/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "protocol/sight.h"

static const uint64_t tick_ns = 50000000;

static struct sight sight_of(unsigned processes, unsigned with_ebpf)
{
	return (struct sight){ .level = with_ebpf ? RW_LEVEL_EBPF : RW_LEVEL_PROC,
			       .below = RW_LEVEL_PROC,
			       .processes = processes,
			       .with_ebpf = with_ebpf };
}

/* How often it was news in `seconds`. */
static int told(struct sight_news *news, struct sight sight, uint64_t *now_ns, unsigned seconds)
{
	int count = 0;

	for (unsigned i = 0; i < seconds * 20; i++)
		count += sight_news_take(news, &sight, *now_ns += tick_ns);
	return count;
}

Test(sight, ranks_that_come_are_told_of_once_they_are_all_there)
{
	struct sight_news news = { 0 };
	uint64_t now_ns = 1;

	cr_expect_eq(told(&news, sight_of(0, 0), &now_ns, 5), 0, "nobody is there");
	for (unsigned ranks = 1; ranks < 8; ranks++)
		for (int i = 0; i < 10; i++)
			cr_expect_not(sight_news_take(&news, &(struct sight){ .processes = ranks, .with_ebpf = ranks },
						      now_ns += tick_ns));
	cr_expect_eq(told(&news, sight_of(8, 8), &now_ns, 10), 1);
	cr_expect_eq(news.reported_processes, 8);
}

Test(sight, that_ranks_leave_is_no_news_and_that_they_are_lost_to_a_lower_level_is)
{
	struct sight_news news = { 0 };
	uint64_t now_ns = 1;

	cr_expect_eq(told(&news, sight_of(8, 8), &now_ns, 3), 1);
	cr_expect_eq(told(&news, sight_of(5, 5), &now_ns, 3), 0);
	cr_expect_eq(told(&news, sight_of(0, 0), &now_ns, 3), 0);
	cr_expect_eq(told(&news, sight_of(8, 8), &now_ns, 3), 0, "they were started again");
	cr_expect_eq(told(&news, sight_of(8, 7), &now_ns, 3), 1);
	cr_expect_eq(news.most.processes, 8);
	cr_expect_eq(news.most.with_ebpf, 7, "the worst of the times when most were there");
}

static void expect_line(struct sight sight, const char *why, const char *expected)
{
	char line[SIGHT_LINE];

	strcpy(sight.why, why);
	json_t *json = sight_json(&sight);
	sight_describe(json, SIGHT_LINE - 1, line);
	json_decref(json);
	cr_expect_str_eq(line, expected);
	cr_expect_leq(strlen(line), 120);
}

Test(sight, one_line_says_how_deep_and_why_not_deeper)
{
	expect_line(sight_of(8, 8), "", "watching 8 ranks with eBPF");
	expect_line(sight_of(1, 0), "no CAP_BPF and CAP_PERFMON; run the collector as root",
		    "watching 1 rank through /proc only: no CAP_BPF and CAP_PERFMON; run the collector as root");
	expect_line(sight_of(8, 7), "process 4711: No such process",
		    "watching 7 of 8 ranks with eBPF, the others through /proc only: process 4711: No such process");
	expect_line((struct sight){ .level = RW_LEVEL_EBPF }, "", "watching with eBPF");
}

Test(sight, what_would_help_is_left_out_before_the_line_grows_too_long)
{
	expect_line(sight_of(8, 0),
		    "the kernel is locked down (confidentiality); nothing that could be said in the rest of this line "
		    "would help here",
		    "watching 8 ranks through /proc only: the kernel is locked down (confidentiality)");
	expect_line(
	    sight_of(8, 0),
	    "a reason that is so long by itself that even without any advice it cannot be told on "
	    "one line of a hundred and twenty columns",
	    "watching 8 ranks through /proc only: a reason that is so long by itself that even without any advice it "
	    "cannot be tol...");
}
