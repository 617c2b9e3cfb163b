/* SPDX-License-Identifier: MIT */
#include "console/trials/demo_verdict.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/foreign_text.h"
#include "finding/value.h"

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static const char *cause_of(const json_t *finding)
{
	const char *cause = text_of(json_object_get(finding, "cause"), "class");

	return *cause ? cause : "no cause";
}

/* id → last revision, without notices. */
static json_t *read_findings(FILE *lines)
{
	json_t *findings = json_object();
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, lines) > 0) {
		json_t *finding = json_loads(line, 0, NULL);
		const char *id = text_of(finding, "id");

		if (*id && strcmp(text_of(finding, "severity"), "notice"))
			json_object_set(findings, id, finding);
		json_decref(finding);
	}
	free(line);
	return findings;
}

static bool names_right(const json_t *finding, const struct scenario *scenario)
{
	const json_t *ranks = json_object_get(finding, "ranks");
	int expected[] = { scenario->rank, scenario->peer }; /* in the order of ranks, as in a finding */
	size_t count = scenario->peer ? 2 : 1;

	if (scenario->scope && strcmp(text_of(finding, "scope"), scenario->scope))
		return false;
	/* Of all ranks: no single one is named, at most the link between two hosts. */
	if (scenario->rank < 0)
		return strcmp(text_of(finding, "scope"), "rank") && strcmp(text_of(finding, "scope"), "host");
	if (json_array_size(ranks) != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (json_integer_value(json_array_get(ranks, i)) != expected[i])
			return false;
	return true;
}

/* "No rank is late": where others use the CPUs as well, operations of the stand-in take longer, beside whatever fault
 * is played. */
static bool accuses_nobody(const json_t *finding)
{
	return !strcmp(text_of(finding, "kind"), "slowdown") && !strcmp(text_of(finding, "scope"), "job");
}

static bool has_values(const json_t *finding, const struct scenario *scenario)
{
	const json_t *values = json_object_get(finding, "values"), *first = json_object_get(values, "first_bad");

	return !strcmp(text_of(values, "origin"), scenario->origin) &&
	       (scenario->first_bad < 0 ||
		(json_is_integer(first) && json_integer_value(first) == scenario->first_bad));
}

static bool is_expected(const json_t *finding, const struct scenario *scenario)
{
	return !strcmp(text_of(finding, "kind"), scenario->kind) &&
	       (!scenario->cause || !strcmp(cause_of(finding), scenario->cause)) &&
	       (!scenario->origin || has_values(finding, scenario)) &&
	       (!scenario->foresees ||
		json_is_object(json_object_get(json_object_get(finding, "watchdog"), "reached")));
}

/* "born, first at 70000"; of a finding about time: the cause. Caller frees it. */
static char *describe_why(const json_t *finding)
{
	const json_t *values = json_object_get(finding, "values"), *first = json_object_get(values, "first_bad");
	char *why = foreign_text(json_is_object(values) ? text_of(values, "origin") : cause_of(finding)), *text = NULL;

	if (json_is_integer(first) && asprintf(&text, "%s, first at %lld", why ? why : "?",
					       (long long)json_integer_value(first)) >= 0)
		free(why);
	else
		text = why;
	return text;
}

/* "of all ranks", "in rank 0", "in ranks 0,1". */
static void describe_ranks(const json_t *finding, char *text, size_t size)
{
	const json_t *ranks = json_object_get(finding, "ranks");
	char list[96];

	if (!strcmp(text_of(finding, "scope"), "job"))
		snprintf(text, size, "of all ranks");
	else
		snprintf(text, size, "in %srank%s %s", strcmp(text_of(finding, "scope"), "host") ? "" : "the host of ",
			 json_array_size(ranks) == 1 ? "" : "s", value_ranks(ranks, list, sizeof(list)));
}

static void describe(const json_t *finding, const char *judgement, struct demo_verdict *verdict)
{
	char *kind = foreign_text(text_of(finding, "kind")), *why = describe_why(finding);
	char ranks[128];

	describe_ranks(finding, ranks, sizeof(ranks));
	snprintf(verdict->text, sizeof(verdict->text), "%s, %s, %s: %s", kind ? kind : "?", why ? why : "?", ranks,
		 judgement);
	free(kind);
	free(why);
}

void demo_judge(struct demo_verdict *verdict, const struct scenario *scenario, FILE *lines, bool saw_all)
{
	json_t *findings = read_findings(lines), *finding;
	const json_t *wrong = NULL, *right = NULL, *other = NULL;
	const char *id;

	json_object_foreach(findings, id, finding)
	{
		bool names = names_right(finding, scenario);

		if (!scenario->kind || (!names && !accuses_nobody(finding)))
			wrong = finding;
		else if (names && is_expected(finding, scenario))
			right = finding;
		else
			other = finding;
	}
	verdict->right = !wrong && (right || (!scenario->kind && saw_all));
	verdict->unexpected = verdict->right && scenario->awaits;
	if (scenario->awaits && !wrong && !right) {
		verdict->right = true;
		snprintf(verdict->text, sizeof(verdict->text),
			 "nobody wrongly; finding it is expected to fail until \"%s\"", scenario->awaits);
	} else if (wrong)
		describe(wrong, "wrong", verdict);
	else if (right)
		describe(right, "right", verdict);
	else if (other)
		describe(other, "the right rank, but not what was injected: wrong", verdict);
	else
		snprintf(verdict->text, sizeof(verdict->text), "nothing%s: %s",
			 saw_all ? "" : ", but no collector watched all ranks to the end",
			 verdict->right ? "right" : "wrong");
	json_decref(findings);
}
