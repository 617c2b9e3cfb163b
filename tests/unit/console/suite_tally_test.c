/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rankwatch/finding.h>

#include "console/trials/suite_tally.h"

/* Jobs with known verdicts, whose seeds are 1, 2, 3 … */
static void add(struct suite_tally *tally, enum suite_fault fault, enum suite_verdict verdict, int found_step,
		int oracle_steps, double stands_out)
{
	const struct suite_draw draw = { .seed = (unsigned)tally->count + 1,
					 .shape = SHAPE_TENSOR,
					 .ranks = 8,
					 .width = 4,
					 .layers = 2,
					 .step_ms = 200,
					 .steps = 300,
					 .fault = fault,
					 .fault_step = 50,
					 .rank = 3,
					 .other = -1,
					 .every = 1 };
	struct suite_result result = { .verdict = verdict,
				       .found_step = found_step,
				       .oracle_steps = oracle_steps,
				       .stands_out = stands_out,
				       .kind = found_step ? RW_KIND_STRAGGLER : -1,
				       .cause = found_step ? RW_CAUSE_IO : -1 };

	snprintf(result.text, sizeof(result.text), "%s", found_step ? "rank 3 is late" : "");
	cr_assert_eq(suite_tally_add(tally, &draw, &result), 0);
}

static struct suite_tally some(void)
{
	struct suite_tally tally = { 0 };

	add(&tally, FAULT_CREEP, VERDICT_RIGHT, 57, 4, 2);
	add(&tally, FAULT_CREEP, VERDICT_CAUSE, 89, 4, 2.5);
	add(&tally, FAULT_CREEP, VERDICT_MISSED, 0, 0, 0.5);
	add(&tally, FAULT_HOST, VERDICT_PARTLY, 59, 5, 8);
	add(&tally, FAULT_HOST, VERDICT_WRONG, 51, 5, 3);
	add(&tally, FAULT_KILLED, VERDICT_RIGHT, 50, 1, INFINITY);
	add(&tally, FAULT_TRANSFERS, VERDICT_INCONCLUSIVE, 0, 1, INFINITY);
	add(&tally, FAULT_HEALTHY, VERDICT_RIGHT, 0, 1, INFINITY);
	add(&tally, FAULT_HEALTHY, VERDICT_FALSE, 60, 1, INFINITY);
	return tally;
}

static char *printed(const struct suite_tally *tally, const char *again)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert(out);
	suite_tally_print(tally, again, out, INT_MAX);
	fclose(out);
	return text;
}

static void expect_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	cr_expect(at && (at == text || at[-1] == '\n') && at[strlen(line)] == '\n', "\"%s\" is no line of\n%s", line, text);
}

Test(suite_tally, counts_verdicts_by_fault)
{
	struct suite_tally tally = some();
	char *text = printed(&tally, "rankwatch suite");

	expect_line(text, "fault                    jobs right  cause partly clusive missed wrong false");
	expect_line(text, "healthy                     2     1      0      0       0      0     0     1");
	expect_line(text, "creep                       3     1      1      0       0      1     0     0");
	expect_line(text, "a host                      2     0      0      1       0      0     1     0");
	expect_line(text, "transfers slower            1     0      0      0       1      0     0     0");
	expect_line(text, "all                         9     3      1      1       1      1     1     1");
	cr_expect_null(strstr(text, "hangs"), "of which there was no job");
	for (int verdict = 0; verdict < VERDICTS; verdict++)
		cr_expect_eq(suite_tally_count(&tally, (enum suite_verdict)verdict), verdict == VERDICT_RIGHT ? 3 : 1);
	free(text);
	suite_tally_free(&tally);
}

/* Creep: 8 steps and 40, the oracle's 4. The host's that was named in part counts its steps, and is not held against
 * the oracle. */
Test(suite_tally, tells_steps_bands_and_shares)
{
	struct suite_tally tally = some();
	char *text = printed(&tally, "rankwatch suite");

	expect_line(text, "creep                              2 of 2      40      40      10      10");
	expect_line(text, "a host                             0 of 2      10      10       -       -");
	expect_line(text, "killed                             1 of 1       1       1       -       -");
	expect_line(text, "0 to 1.5 times               1          0                    0");
	expect_line(text, "1.5 to 3 times               2          2                    0");
	expect_line(text, "3 to 6 times                 1          0                    1");
	expect_line(text, "12 times and more            0          0                    0");
	/* Wilson's interval of 3 of 7, 1 of 7 and 1 of 2. */
	expect_line(text, "all ranks at fault named                3 of    7   42.9 % (95 %: 15.8 to 75.0)");
	expect_line(text, "a healthy rank named in faulty jobs     1 of    7   14.3 % (95 %: 2.6 to 51.3)");
	expect_line(text, "a rank named in healthy jobs            1 of    2   50.0 % (95 %: 9.5 to 90.5)");
	free(text);
	suite_tally_free(&tally);
}

Test(suite_tally, lists_each_job_that_is_not_right_with_how_to_play_it_again)
{
	struct suite_tally tally = some();
	char *text = printed(&tally, "rankwatch suite --ranks 64");
	static const unsigned wrong[] = { 2, 3, 4, 5, 7, 9 };
	char line[64];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(line, sizeof(line), "    again: rankwatch suite --ranks 64 %u", wrong[i]);
		expect_line(text, line);
	}
	cr_expect_null(strstr(text, "again: rankwatch suite --ranks 64 1\n"));
	expect_line(text, "    the oracle does not know it either: it stands out by 0.5");
	expect_line(text, "    nothing was reported");
	expect_line(text, "    reported: rank 3 is late");
	cr_expect(strstr(text, "\n5: wrong: TP, 8 ranks in groups of 4"), "%s", text);
	free(text);
	suite_tally_free(&tally);
}

Test(suite_tally, says_the_same_as_json)
{
	struct suite_tally tally = some();
	json_t *job = suite_tally_job_json(&tally.jobs[1], "rankwatch suite"), *sums = suite_tally_json(&tally, true),
	       *summary, *fault;
	const char *verdict, *kind, *cause, *again, *name;
	int seed, steps, oracle, jobs, interrupted, named, of, creep;
	double low, high;

	cr_assert_eq(json_unpack(job, "{s:i, s:s, s:s, s:s, s:s, s:i, s:i}", "job", &seed, "verdict", &verdict, "kind",
				 &kind, "cause", &cause, "again", &again, "steps", &steps, "oracle_steps", &oracle),
		     0);
	cr_expect_eq(seed, 2);
	cr_expect_str_eq(verdict, "right rank, wrong cause");
	cr_expect_str_eq(kind, "straggler");
	cr_expect_str_eq(cause, "io");
	cr_expect_str_eq(again, "rankwatch suite 2");
	cr_expect(steps == 40 && oracle == 4);
	cr_assert_eq(json_unpack(sums, "{s:o}", "summary", &summary), 0);
	cr_assert_eq(json_unpack(summary, "{s:i, s:b, s:{s:i, s:i, s:f, s:f}}", "jobs", &jobs, "interrupted",
				 &interrupted, "named", "jobs", &named, "of", &of, "low", &low, "high", &high),
		     0);
	cr_expect(jobs == 9 && interrupted == 1 && named == 3 && of == 7);
	cr_expect_float_eq(low, 0.158, 0.001);
	cr_expect_float_eq(high, 0.750, 0.001);
	fault = json_array_get(json_object_get(summary, "faults"), 1);
	cr_assert_eq(json_unpack(fault, "{s:s, s:{s:i}}", "fault", &name, "verdicts", "missed", &creep), 0);
	cr_expect_str_eq(name, "creep");
	cr_expect_eq(creep, 1);
	json_decref(job);
	json_decref(sums);
	suite_tally_free(&tally);
}
