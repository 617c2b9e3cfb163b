/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "console/trials/demo_verdict.h"
#include "console/trials/demo_witness.h"

static const struct scenario io = { .name = "io", .kind = "straggler", .cause = "io", .rank = 0 };
static const struct scenario healthy = { .name = "healthy", .rank = -1 };

#define FINDING(id, severity, ranks, cause)                                                                            \
	"{\"id\":\"" id "\",\"severity\":\"" severity "\",\"kind\":\"straggler\",\"ranks\":" ranks                     \
	",\"cause\":{\"class\":\"" cause "\"}}\n"

static void expect_verdict(const struct scenario *scenario, const char *lines, bool right, const char *part)
{
	struct demo_verdict verdict;
	FILE *file = fmemopen((char *)lines, strlen(lines), "r");

	demo_judge(&verdict, scenario, file, true);
	fclose(file);
	cr_expect_eq(verdict.right, right, "%s", verdict.text);
	cr_expect(strstr(verdict.text, part), "\"%s\" in \"%s\"", part, verdict.text);
}

Test(demo_verdict, rank_kind_and_cause_as_injected_are_right)
{
	expect_verdict(&io, FINDING("a", "warning", "[0]", "io"), true, "straggler, io, in rank 0: right");
}

Test(demo_verdict, one_that_is_expected_to_fail_must_still_name_nobody_wrongly)
{
	static const struct scenario later = { .name = "later", .kind = "straggler", .cause = "gpu", .rank = 2,
					       .awaits = "Something" };
	struct demo_verdict verdict;
	char found[] = FINDING("a", "warning", "[2]", "gpu");

	expect_verdict(&later, " ", true, "expected to fail until \"Something\"");
	expect_verdict(&later, FINDING("a", "warning", "[2]", "unknown"), true, "expected to fail");
	expect_verdict(&later, FINDING("a", "warning", "[3]", "gpu"), false, "in rank 3: wrong");
	FILE *file = fmemopen(found, strlen(found), "r");
	demo_judge(&verdict, &later, file, true);
	fclose(file);
	cr_expect(verdict.right && verdict.unexpected);
	cr_expect(strstr(verdict.text, "right"), "%s", verdict.text);
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
	expect_verdict(&io, FINDING("a", "warning", "[0,1]", "io"), false, "in ranks 0,1: wrong");
}

Test(demo_verdict, operations_that_take_longer_for_everybody_accuse_nobody)
{
	static const char slower[] =
	    "{\"id\":\"b\",\"severity\":\"warning\",\"kind\":\"slowdown\",\"scope\":\"job\",\"ranks\":[0,1]}\n";
	char both[512];

	snprintf(both, sizeof(both), FINDING("a", "warning", "[0]", "io") "%s", slower);
	expect_verdict(&io, both, true, "straggler, io, in rank 0: right");
	expect_verdict(&io, slower, false, "slowdown");
	expect_verdict(&healthy, slower, false, "wrong");
}

Test(demo_verdict, a_host_is_named_as_a_whole_or_wrongly)
{
	static const struct scenario host = {
		.name = "host", .kind = "straggler", .cause = "cpu", .rank = 4, .peer = 5, .scope = "host"
	};

#define SCOPED(scope, ranks)                                                                                           \
	"{\"id\":\"a\",\"severity\":\"warning\",\"kind\":\"straggler\",\"scope\":\"" scope "\",\"ranks\":" ranks       \
	",\"cause\":{\"class\":\"cpu\"}}\n"
	expect_verdict(&host, SCOPED("host", "[4,5]"), true, "straggler, cpu, in the host of ranks 4,5: right");
	expect_verdict(&host, SCOPED("rank", "[4,5]"), false, "wrong");
	expect_verdict(&host, SCOPED("rank", "[4]"), false, "in rank 4: wrong");
	expect_verdict(&host, SCOPED("host", "[6,7]"), false, "in the host of ranks 6,7: wrong");
}

Test(demo_verdict, nothing_found_is_wrong_but_for_a_healthy_job)
{
	expect_verdict(&io, " ", false, "nothing: wrong");
	expect_verdict(&healthy, " ", true, "nothing: right");
	expect_verdict(&healthy, FINDING("a", "warning", "[0]", "io"), false, "wrong");
}

Test(demo_verdict, values_are_right_with_their_origin_and_first_index)
{
	static const struct scenario nan = { .name = "nan", .kind = "nan", .rank = 5, .origin = "born", .first_bad = 70 };
	static const struct scenario anywhere = { .name = "nan", .kind = "nan", .rank = 5, .origin = "born",
						  .first_bad = -1 };

#define VALUES(origin, first)                                                                                          \
	"{\"id\":\"a\",\"severity\":\"critical\",\"kind\":\"nan\",\"ranks\":[5],\"cause\":null,\"values\":{"           \
	"\"origin\":\"" origin "\",\"first_bad\":" first "}}\n"
	expect_verdict(&nan, VALUES("born", "70"), true, "nan, born, first at 70, in rank 5: right");
	expect_verdict(&nan, VALUES("born", "71"), false, "not what was injected");
	expect_verdict(&nan, VALUES("born", "null"), false, "nan, born, in rank 5");
	expect_verdict(&nan, VALUES("received", "70"), false, "received");
	expect_verdict(&anywhere, VALUES("born", "null"), true, "right");
}

Test(demo_verdict, of_a_transfer_both_ends_must_be_listed)
{
	static const struct scenario pair = { .name = "pair", .kind = "straggler", .cause = "io", .rank = 4, .peer = 5 };

	expect_verdict(&pair, FINDING("a", "warning", "[4,5]", "io"), true, "in ranks 4,5: right");
	expect_verdict(&pair, FINDING("a", "warning", "[4]", "io"), false, "wrong");
	expect_verdict(&pair, FINDING("a", "warning", "[4,6]", "io"), false, "wrong");
}

Test(demo_verdict, a_fault_of_no_rank_is_right_when_the_job_or_a_link_is_named_and_wrong_when_a_host_is)
{
	static const struct scenario link = { .name = "link", .kind = "slowdown", .cause = "network", .rank = -1 };

#define SLOWDOWN(scope)                                                                                                \
	"{\"id\":\"a\",\"severity\":\"warning\",\"kind\":\"slowdown\",\"ranks\":[0,1],\"scope\":\"" scope                  \
	"\",\"cause\":{\"class\":\"network\"}}\n"
	expect_verdict(&link, SLOWDOWN("job"), true, "slowdown, network, of all ranks: right");
	expect_verdict(&link, SLOWDOWN("job") SLOWDOWN("link"), true, "slowdown, network, in ranks 0,1: right");
	expect_verdict(&link, SLOWDOWN("host"), false, "in the host of ranks 0,1: wrong");
	expect_verdict(&link, SLOWDOWN("rank"), false, "in ranks 0,1: wrong");
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

Test(demo_verdict, silence_is_right_only_when_a_collector_saw_all_ranks)
{
	struct demo_verdict verdict;
	FILE *file = fmemopen(" ", 1, "r");

	demo_judge(&verdict, &healthy, file, false);
	fclose(file);
	cr_expect_not(verdict.right);
	cr_expect_str_eq(verdict.text, "nothing, but no collector watched all ranks to the end: wrong");
}

static bool saw_all(const char *line)
{
	json_t *message = json_loads(line, 0, NULL);
	struct demo_witness witness;

	cr_assert(message);
	demo_witness_open(&witness);
	demo_witness_hear(&witness, message);
	json_decref(message);
	return witness.saw_all;
}

Test(demo_witness, all_ranks_are_as_many_as_the_job_has)
{
	cr_expect(saw_all("{\"summary\":{\"ranks_seen\":8,\"ranks_total\":8}}"));
	cr_expect_not(saw_all("{\"summary\":{\"ranks_seen\":7,\"ranks_total\":8}}"));
	cr_expect_not(saw_all("{\"summary\":{\"ranks_seen\":0,\"ranks_total\":null}}"));
	cr_expect_not(saw_all("{\"hello\":{\"job\":\"j\"}}"));
}
