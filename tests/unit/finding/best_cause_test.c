/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "finding/best_cause.h"
#include "finding/value.h"

static json_t *finding_of(const char *class_, const char *level, const char *confidence)
{
	return json_pack("{s:o, s:s, s:s, s:s, s:[s], s:{s:n}}", "cause",
			 class_ ? json_pack("{s:s, s:s}", "class", class_, "text", level) : json_null(), "level", level,
			 "confidence", confidence, "advice", level, "missing", level, "late", "kind");
}

static void expect_better(json_t *better, json_t *worse)
{
	cr_expect(best_cause_is_better(better, worse));
	cr_expect_not(best_cause_is_better(worse, better));
	cr_expect_not(best_cause_is_better(better, better));
	json_decref(better);
	json_decref(worse);
}

Test(best_cause, a_cause_is_more_than_a_level_and_that_more_than_certainty)
{
	expect_better(finding_of("io", "self", "likely"), finding_of("unknown", "ebpf", "certain"));
	expect_better(finding_of("io", "self", "likely"), finding_of(NULL, "ebpf", "certain"));
	expect_better(finding_of("io", "ebpf", "likely"), finding_of("sleep", "root", "certain"));
	expect_better(finding_of("io", "proc", "likely"), finding_of("io", "self", "likely"));
	expect_better(finding_of("io", "proc", "certain"), finding_of("io", "proc", "likely"));
	expect_better(finding_of("io", "none", "likely"), finding_of("io", "a newer one", "likely"));
}

Test(best_cause, a_function_of_python_is_more_than_none)
{
	json_t *with = finding_of("sleep", "ebpf", "certain");

	json_object_set_new(json_object_get(with, "cause"), "python",
			    json_pack("{s:i, s:i, s:{s:s, s:s, s:i}}", "looks", 8, "seen", 8, "at", "function", "save",
				      "file", "a.py", "line", 3));
	expect_better(with, finding_of("sleep", "ebpf", "certain"));
}

Test(best_cause, what_rests_on_the_cause_is_taken_with_it_and_nothing_else)
{
	json_t *finding = finding_of("io", "self", "likely"), *from = finding_of("sleep", "ebpf", "certain");

	json_object_set_new(finding, "lost", json_integer(7));
	json_object_set_new(finding, "text", json_string("mine"));
	json_object_set_new(from, "text", json_string("other"));
	json_object_set_new(json_object_get(from, "late"), "kind", json_string("host"));
	best_cause_take(finding, from);
	cr_expect_str_eq(value_text(json_object_get(finding, "cause"), "class"), "sleep");
	cr_expect_str_eq(value_text(finding, "level"), "ebpf");
	cr_expect_str_eq(value_text(finding, "confidence"), "certain");
	cr_expect_str_eq(value_text(finding, "advice"), "ebpf");
	cr_expect_str_eq(value_text(finding, "text"), "mine");
	cr_expect_str_eq(value_text(json_object_get(finding, "late"), "kind"), "host");
	cr_expect_null(json_object_get(finding, "lost"), "nothing was lost then");
	json_decref(finding);
	json_decref(from);
}

/* It was stopped, and all were killed while the others waited for it. */
Test(best_cause, how_a_rank_is_gone_and_its_cause_belong_together)
{
	json_t *finding = finding_of("gone", "none", "certain"), *from = finding_of("stopped", "ebpf", "certain");

	json_object_set_new(finding, "kind", json_string("gone"));
	json_object_set_new(finding, "text", json_string("rank 2 was killed by signal 9"));
	json_object_set_new(from, "text", json_string("rank 2 was stopped"));
	best_cause_take(finding, from);
	cr_expect_str_eq(value_text(finding, "text"), "rank 2 was stopped");
	json_decref(finding);
	json_decref(from);
}
