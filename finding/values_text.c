/* SPDX-License-Identifier: MIT */
#include "finding/values_text.h"

#include "finding/value.h"

/* What is said comes in parts; absent ones are left out. */
struct parts {
	FILE *out;
	bool some;
};

static FILE *next_part(struct parts *parts)
{
	if (parts->some)
		fputs("; ", parts->out);
	parts->some = true;
	return parts->out;
}

static void write_counts(struct parts *parts, const json_t *values)
{
	long long nan = (long long)value_number(values, "nan", 0), inf = (long long)value_number(values, "inf", 0);
	const json_t *first = json_object_get(values, "first_bad");

	if (nan)
		fprintf(next_part(parts), "%lld NaN", nan);
	if (inf)
		fprintf(next_part(parts), "%lld Inf", inf);
	if (json_is_integer(first))
		fprintf(next_part(parts), "first at element %lld", (long long)json_integer_value(first));
}

static void write_victims(struct parts *parts, const json_t *finding)
{
	const json_t *victims = json_object_get(finding, "victims");
	char ranks[64];

	if (json_array_size(victims))
		fprintf(next_part(parts), "then in rank%s %s", json_array_size(victims) == 1 ? "" : "s",
			value_ranks(victims, ranks, sizeof(ranks)));
}

bool values_text_is(const json_t *finding)
{
	return json_is_object(json_object_get(finding, "values"));
}

void values_text_write(FILE *out, const json_t *finding)
{
	const json_t *values = json_object_get(finding, "values");
	const json_t *before = json_object_get(values, "absmax_before");
	struct parts parts = { .out = out };

	write_counts(&parts, values);
	if (json_is_number(before))
		fprintf(next_part(&parts), "largest value before %.3g", json_number_value(before));
	write_victims(&parts, finding);
	if (!parts.some)
		fputs("finite", out);
}

void values_text_write_evidence(FILE *out, const json_t *finding)
{
	const json_t *evidence = json_object_get(finding, "evidence");
	struct parts parts = { .out = out };

	for (size_t i = 0; i < json_array_size(evidence); i++) {
		const char *what = value_text(json_array_get(evidence, i), "what");

		if (what)
			fputs(what, next_part(&parts));
	}
}

void values_text_write_missing(FILE *out, const json_t *finding)
{
	const json_t *missing = json_object_get(finding, "missing");

	struct parts parts = { .out = out };

	for (size_t i = 0; i < json_array_size(missing); i++) {
		const char *what = json_string_value(json_array_get(missing, i));

		if (what)
			fputs(what, next_part(&parts));
	}
}
