/* SPDX-License-Identifier: MIT */
#include "console/demo_verdict.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "finding/finding_text.h"

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

	if (scenario->rank < 0)
		return !strcmp(text_of(finding, "scope"), "job");
	return json_array_size(ranks) == 1 && json_integer_value(json_array_get(ranks, 0)) == scenario->rank;
}

static bool has_values(const json_t *finding, const struct scenario *scenario)
{
	const json_t *values = json_object_get(finding, "values"), *first = json_object_get(values, "first_bad");

	return !strcmp(text_of(values, "origin"), scenario->origin) &&
	       (scenario->first_bad < 0 || (json_is_integer(first) && json_integer_value(first) == scenario->first_bad));
}

static bool is_expected(const json_t *finding, const struct scenario *scenario)
{
	return !strcmp(text_of(finding, "kind"), scenario->kind) &&
	       (!scenario->cause || !strcmp(cause_of(finding), scenario->cause)) &&
	       (!scenario->origin || has_values(finding, scenario));
}

/* "born, first at 70000"; of a finding about time: the cause. Caller frees it. */
static char *describe_why(const json_t *finding)
{
	const json_t *values = json_object_get(finding, "values"), *first = json_object_get(values, "first_bad");
	char *why = finding_escape(json_is_object(values) ? text_of(values, "origin") : cause_of(finding)), *text = NULL;

	if (json_is_integer(first) && asprintf(&text, "%s, first at %lld", why ? why : "?",
					       (long long)json_integer_value(first)) >= 0)
		free(why);
	else
		text = why;
	return text;
}

static void describe(const json_t *finding, const char *judgement, struct demo_verdict *verdict)
{
	char *ranks = json_dumps(json_object_get(finding, "ranks"), JSON_COMPACT | JSON_ENCODE_ANY);
	char *kind = finding_escape(text_of(finding, "kind")), *why = describe_why(finding);

	snprintf(verdict->text, sizeof(verdict->text), "%s, %s, in rank %.*s: %s", kind ? kind : "?",
		 why ? why : "?", ranks ? (int)strcspn(ranks + 1, "]") : 1, ranks ? ranks + 1 : "?", judgement);
	free(ranks);
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
		if (!scenario->kind || !names_right(finding, scenario))
			wrong = finding;
		else if (is_expected(finding, scenario))
			right = finding;
		else
			other = finding;
	}
	verdict->right = !wrong && (right || (!scenario->kind && saw_all));
	if (wrong)
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
