/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "finding/announcer.h"

#define SECOND UINT64_C(1000000000)

static char *text_shown;
static size_t text_size;

static struct announcer announcer(void)
{
	return (struct announcer){ .text = open_memstream(&text_shown, &text_size) };
}

/* Was it news? */
static bool take_as(struct announcer *announcer, const char *severity, const char *state, const char *class_, int rank,
		    uint64_t now_ns)
{
	json_t *finding = json_pack("{s:i, s:s, s:s, s:s, s:s, s:[i], s:s, s:{s:s, s:s}}", "schema", 1, "id", "x",
				    "state", state, "severity", severity, "kind", "straggler", "ranks", rank, "text",
				    "slow", "cause", "class", class_, "text", class_);

	announcer_take(announcer, finding, now_ns);

	bool is_news = announcer_waits(announcer);

	announcer_tick(announcer, now_ns);
	json_decref(finding);
	return is_news;
}

static bool take(struct announcer *announcer, const char *state, const char *class_, int rank, uint64_t now_ns)
{
	return take_as(announcer, "warning", state, class_, rank, now_ns);
}

static unsigned shown(struct announcer *announcer)
{
	unsigned count = 0;

	fflush(announcer->text);
	for (const char *at = text_shown; (at = strstr(at, "STRAGGLER")); at++)
		count++;
	return count;
}

static void finish(struct announcer *announcer)
{
	announcer_finish(announcer);
	fclose(announcer->text);
	free(text_shown);
}

Test(announcer, the_same_rank_and_kind_is_shown_once_a_minute)
{
	struct announcer one = announcer();

	take(&one, "open", "io", 0, SECOND);
	for (unsigned second = 2; second < 60; second++)
		take(&one, "update", "io", 0, second * SECOND);
	cr_expect_eq(shown(&one), 1);
	take(&one, "update", "io", 0, 62 * SECOND);
	cr_expect_eq(shown(&one), 2);
	take(&one, "open", "io", 5, 63 * SECOND);
	cr_expect_eq(shown(&one), 3);
	finish(&one);
}

Test(announcer, what_names_a_link_instead_of_the_job_is_shown_at_once)
{
	struct announcer one = announcer();
	json_t *finding = json_pack("{s:i, s:s, s:s, s:s, s:s, s:[i,i], s:s, s:s, s:{s:s}}", "schema", 1, "id", "x",
				    "state", "open", "severity", "warning", "kind", "straggler", "ranks", 0, 1, "scope",
				    "job", "text", "slow", "cause", "class", "network");

	announcer_take(&one, finding, SECOND);
	announcer_tick(&one, SECOND);
	json_object_set_new(finding, "state", json_string("update"));
	announcer_take(&one, finding, 2 * SECOND);
	announcer_tick(&one, 2 * SECOND);
	cr_expect_eq(shown(&one), 1);
	json_object_set_new(finding, "scope", json_string("link"));
	announcer_take(&one, finding, 7 * SECOND);
	announcer_tick(&one, 7 * SECOND);
	cr_expect_eq(shown(&one), 2);
	json_decref(finding);
	finish(&one);
}

Test(announcer, a_cause_that_is_not_known_yet_is_waited_for_a_moment)
{
	struct announcer one = announcer();

	take(&one, "open", "unknown", 0, SECOND);
	cr_expect_eq(shown(&one), 0);
	take(&one, "update", "io", 0, SECOND + SECOND / 2);
	cr_expect_eq(shown(&one), 1);
	take(&one, "open", "unknown", 1, 2 * SECOND);
	announcer_tick(&one, 5 * SECOND);
	cr_expect_eq(shown(&one), 2);
	finish(&one);
}

Test(announcer, what_a_new_collector_announces_again_is_no_news)
{
	struct announcer one = announcer();

	cr_expect(take(&one, "open", "io", 0, SECOND));
	cr_expect_not(take(&one, "open", "io", 0, 2 * SECOND));
	cr_expect(take(&one, "update", "io", 0, 3 * SECOND));
	cr_expect(take(&one, "closed", "io", 0, 4 * SECOND));
	cr_expect(take(&one, "open", "io", 0, 5 * SECOND));
	finish(&one);
}

Test(announcer, says_whether_something_waits_for_its_time)
{
	struct announcer one = announcer();

	cr_expect_not(announcer_waits(&one));
	take(&one, "open", "unknown", 0, SECOND);
	cr_expect(announcer_waits(&one));
	announcer_tick(&one, 4 * SECOND);
	cr_expect_not(announcer_waits(&one));
	take(&one, "update", "io", 0, 5 * SECOND);
	cr_expect(announcer_waits(&one));
	finish(&one);
}

static bool says(struct announcer *announcer, const char *words)
{
	fflush(announcer->text);
	return strstr(text_shown, words) != NULL;
}

Test(announcer, that_it_is_over_is_told_at_once_and_once)
{
	struct announcer one = announcer();

	take(&one, "open", "io", 0, SECOND);
	cr_expect_not(says(&one, "closed"));
	take(&one, "closed", "io", 0, 9 * SECOND);
	cr_expect(says(&one, "closed: slow"));
	cr_expect_eq(shown(&one), 2);
	announcer_tick(&one, 80 * SECOND);
	cr_expect_eq(shown(&one), 2);
	finish(&one);
}

Test(announcer, that_it_is_over_is_told_also_of_what_has_become_a_notice)
{
	struct announcer one = announcer();

	take_as(&one, "notice", "open", "io", 0, SECOND);
	take_as(&one, "notice", "closed", "io", 0, 2 * SECOND);
	cr_expect_eq(shown(&one), 0);
	take(&one, "open", "io", 0, 3 * SECOND);
	take_as(&one, "notice", "update", "io", 0, 70 * SECOND);
	cr_expect_eq(shown(&one), 1);
	take_as(&one, "notice", "closed", "io", 0, 71 * SECOND);
	cr_expect(says(&one, "closed: slow"));
	cr_expect_eq(shown(&one), 2);
	finish(&one);
}

static void take_nan(struct announcer *announcer, const char *state, unsigned step, uint64_t now_ns)
{
	char text[64], first_seen[40];

	snprintf(text, sizeof(text), "brought 1 NaN in step %u.", step);
	snprintf(first_seen, sizeof(first_seen), "2026-11-20T19:%02u:%02u.000Z", step / 60, step % 60);
	json_t *finding = json_pack("{s:i, s:s, s:s, s:s, s:s, s:[i], s:s, s:s, s:{s:i}}", "schema", 1, "id", "x",
				    "state", state, "severity", "critical", "kind", "nan", "ranks", 5, "text", text,
				    "first_seen", first_seen, "values", "nan", 1);

	announcer_take(announcer, finding, now_ns);
	announcer_tick(announcer, now_ns);
	json_decref(finding);
}

static unsigned shown_nan(struct announcer *announcer)
{
	unsigned count = 0;

	fflush(announcer->text);
	for (const char *at = text_shown; (at = strstr(at, "brought 1 NaN")); at++)
		count++;
	return count;
}

Test(announcer, values_that_are_bad_again_are_shown_a_moment_later)
{
	struct announcer one = announcer();

	take_nan(&one, "open", 8, SECOND);
	announcer_tick(&one, 4 * SECOND);
	take_nan(&one, "closed", 8, 5 * SECOND);
	take_nan(&one, "open", 12, 6 * SECOND);
	cr_expect_not(says(&one, "in step 12."));
	announcer_tick(&one, 8 * SECOND);
	cr_expect(says(&one, "in step 12."));
	take_nan(&one, "update", 12, 11 * SECOND);
	cr_expect_eq(shown_nan(&one), 3, "and then as any other");
	finish(&one);
}

Test(announcer, values_that_were_bad_before_others_of_the_same_rank_are_shown_first)
{
	struct announcer one = announcer();

	take_nan(&one, "open", 8, SECOND);
	take_nan(&one, "closed", 8, SECOND + 1);
	take_nan(&one, "open", 12, SECOND + 2);
	cr_expect(says(&one, "in step 8."));
	announcer_tick(&one, 4 * SECOND);
	cr_expect(says(&one, "in step 12."));
	finish(&one);
}

Test(announcer, values_that_are_bad_again_at_the_end_are_shown_also_when_they_are_over)
{
	struct announcer one = announcer();
	FILE *text = one.text;

	take_nan(&one, "open", 8, SECOND);
	announcer_tick(&one, 4 * SECOND);
	take_nan(&one, "closed", 8, 5 * SECOND);
	take_nan(&one, "open", 12, 6 * SECOND);
	take_nan(&one, "closed", 12, 6 * SECOND + 1);
	announcer_finish(&one);
	one.text = text;
	cr_expect(says(&one, "in step 12."));
	fclose(text);
	free(text_shown);
}

/* As on the page of a report: of equally bad ones the first. */
Test(announcer, the_worst_of_values_that_are_bad_again_are_those_of_the_first_time)
{
	struct announcer one = announcer();

	take_nan(&one, "open", 8, SECOND);
	take_nan(&one, "closed", 8, 2 * SECOND);
	take_nan(&one, "open", 12, 3 * SECOND);
	json_t *worst = announcer_worst(&one);

	cr_assert(worst);
	cr_expect(strstr(json_string_value(json_object_get(worst, "text")), "in step 8."));
	json_decref(worst);
	finish(&one);
}

Test(announcer, values_that_are_bad_again_and_again_fill_no_terminal)
{
	struct announcer one = announcer();

	for (unsigned step = 1; step <= 600; step++) {
		take_nan(&one, "open", step, step * SECOND);
		take_nan(&one, "closed", step, step * SECOND + SECOND / 2);
	}
	/* 600 s: once a minute, and at first more often. */
	cr_expect_leq(shown_nan(&one), 2 * (10 + 6), "%u", shown_nan(&one));
	cr_expect_geq(shown_nan(&one), 10, "%u", shown_nan(&one));
	finish(&one);
}

/* What would have been shown a minute after the last time, had the job not ended. */
Test(announcer, at_the_end_nothing_is_left_out_that_changes_the_story)
{
	static const struct {
		const char *then[3];
		unsigned shown;
	} cases[] = {
		{ { "update" }, 0 },                  /* the same, a bit more of it */
		{ { "closed" }, 0 },                  /* was told at once */
		{ { "closed", "open" }, 1 },          /* it came back */
		{ { "closed", "open", "closed" }, 0 }, /* the reader knows that it is over */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct announcer one = announcer();

		take(&one, "open", "io", 0, SECOND);
		for (size_t k = 0; k < 3 && cases[i].then[k]; k++)
			take(&one, cases[i].then[k], "io", 0, (k + 2) * SECOND);
		unsigned before = shown(&one);
		FILE *text = one.text;

		announcer_finish(&one);
		one.text = text;
		cr_expect_eq(shown(&one) - before, cases[i].shown, "case %zu: %u", i, shown(&one) - before);
		fclose(text);
		free(text_shown);
	}
}

/* The last line of `run` */

static void announce_of(struct announcer *announcer, const char *severity, int rank)
{
	json_t *finding = json_pack("{s:i, s:s, s:s, s:s, s:s, s:[i]}", "schema", 1, "id", severity, "state", "open",
				    "kind", "straggler", "severity", severity, "ranks", rank);

	announcer_take(announcer, finding, 1);
	json_decref(finding);
}

static int worst_rank(const struct announcer *announcer)
{
	json_t *worst = announcer_worst(announcer);
	int rank = worst ? (int)json_integer_value(json_array_get(json_object_get(worst, "ranks"), 0)) : -1;

	json_decref(worst);
	return rank;
}

Test(announcer, the_most_severe_is_the_worst_and_of_these_the_first)
{
	struct announcer announcer = { 0 };

	cr_expect_eq(worst_rank(&announcer), -1);
	announce_of(&announcer, "notice", 1);
	cr_expect_eq(worst_rank(&announcer), -1);
	announce_of(&announcer, "warning", 2);
	announce_of(&announcer, "warning", 3);
	cr_expect_eq(worst_rank(&announcer), 2);
	announce_of(&announcer, "critical", 4);
	announce_of(&announcer, "critical", 5);
	cr_expect_eq(worst_rank(&announcer), 4);
	announcer_finish(&announcer);
}

/* When it is over, nearly nothing of it may be left: the last lines of a run say what it was. */
Test(announcer, the_worst_of_what_is_over_as_a_notice_is_what_it_was)
{
	struct announcer one = announcer();

	take_as(&one, "warning", "open", "io", 2, SECOND);
	take_as(&one, "notice", "closed", "io", 2, 9 * SECOND);
	json_t *worst = announcer_worst(&one);

	cr_assert(worst);
	cr_expect_str_eq(json_string_value(json_object_get(worst, "severity")), "warning");
	json_decref(worst);
	finish(&one);
}
