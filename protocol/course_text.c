/* SPDX-License-Identifier: MIT */
#include "protocol/course_text.h"

#include <math.h>

#include "finding/value.h"

enum { STEPS_NAMED = 4 };

static const double mostly = 0.5, waited = 0.25; /* of what long steps took beyond the usual */

static json_t *first_json(const struct analysis_step_course *course)
{
	json_t *durations = course->first ? json_array() : NULL;

	if (!course->first)
		return json_null();
	for (uint32_t i = 0; i < course->first_count; i++)
		json_array_append_new(durations, json_real(round(course->first_ms[i])));
	return json_pack("{s:I, s:o}", "step", (json_int_t)course->first, "ms", durations);
}

/* false: ranks waited for others, or for transfers; null: what they did is not seen. Else nobody was late: all of them
 * did something else for so long. */
static json_t *is_normal(const double *parts)
{
	if (parts[ANALYSIS_WAIT] >= waited || parts[ANALYSIS_TRANSFER] >= mostly)
		return json_false();
	return parts[ANALYSIS_OWN] >= mostly ? json_true() : json_null();
}

static json_t *long_json(const struct analysis_long_steps *longs)
{
	json_t *steps = json_array();
	const double *parts = longs->parts;

	for (uint32_t i = 0; i < longs->kept; i++)
		json_array_append_new(steps, json_integer((json_int_t)longs->steps[i]));
	return json_pack("{s:I, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:o}", "count", (json_int_t)longs->count,
			 "steps", steps, "every", longs->every ? json_integer((json_int_t)longs->every) : json_null(),
			 "ms", round(longs->ms), "share", longs->share, "own", parts[ANALYSIS_OWN], "wait",
			 parts[ANALYSIS_WAIT], "transfer", parts[ANALYSIS_TRANSFER], "unseen", parts[ANALYSIS_UNSEEN],
			 "operations", (json_int_t)longs->operations, "normal", is_normal(parts));
}

json_t *course_text_json(const struct analysis_step_course *course)
{
	json_t *longs = json_array();

	for (size_t i = 0; i < sizeof(course->longs) / sizeof(course->longs[0]); i++)
		if (course->longs[i].count)
			json_array_append_new(longs, long_json(&course->longs[i]));
	if (!course->known) {
		json_decref(longs);
		return json_null();
	}
	return json_pack("{s:I, s:f, s:[f, f], s:b, s:o, s:o}", "known", (json_int_t)course->known, "usual_ms",
			 round(course->usual_ms), "half_ms", round(course->quarter_ms[0]), round(course->quarter_ms[1]),
			 "uneven", course->uneven, "first", first_json(course), "long", longs);
}

static long long integer(const json_t *value)
{
	return (long long)json_integer_value(value);
}

static void print_first(FILE *out, const char *before, int label, const json_t *first, double usual_ms)
{
	const json_t *durations = json_object_get(first, "ms");
	size_t count = json_array_size(durations);
	long long step = integer(json_object_get(first, "step"));

	/* What came before the first operation is not in it: that no step was longer is not known. */
	if (!count)
		return;
	fprintf(out, "%s%-*sstep %lld took %.2f s from its first operation on", before, label, "start", step,
		json_number_value(json_array_get(durations, 0)) / 1000);
	if (count > 1)
		fprintf(out, ", step%s %lld", count > 2 ? "s up to" : "", step + (long long)count - 1);
	if (count > 1)
		fprintf(out, " %.2f s", json_number_value(json_array_get(durations, count - 1)) / 1000);
	fprintf(out, "; from step %lld on it is the usual %.2f s: start-up, no slowdown\n", step + (long long)count,
		usual_ms / 1000);
}

/* "step 40", "steps 20, 40, 60", "steps 60, 80, 100, 120 and 8 before". */
static void print_which(FILE *out, const json_t *value)
{
	const json_t *steps = json_object_get(value, "steps");
	size_t kept = json_array_size(steps), first = kept > STEPS_NAMED ? kept - STEPS_NAMED : 0;
	long long before = integer(json_object_get(value, "count")) - (long long)(kept - first);

	fprintf(out, "step%s ", kept == 1 ? "" : "s");
	for (size_t i = first; i < kept; i++)
		fprintf(out, "%s%lld", i > first ? ", " : "", integer(json_array_get(steps, i)));
	if (before > 0)
		fprintf(out, " and %lld before", before);
	if (json_is_integer(json_object_get(value, "every")))
		fprintf(out, " (every %lld)", integer(json_object_get(value, "every")));
}

static void print_why(FILE *out, const json_t *value)
{
	long long operations = integer(json_object_get(value, "operations"));

	if (value_number(value, "wait", 0) >= waited)
		fprintf(out, "for %.0f %% of what is beyond that ranks waited for others: no pause of all",
			100 * value_number(value, "wait", 0));
	else if (value_number(value, "transfer", 0) >= mostly)
		fputs("most of that went to transfers to which all ranks had come: no pause of all", out);
	else if (value_number(value, "own", 0) < mostly)
		fputs("what they did is not seen", out);
	else if (operations)
		fprintf(out,
			"all ranks together, each with %lld operation%s or more that other steps lack: the program, no "
			"failure",
			operations, operations == 1 ? "" : "s");
	else
		fputs("all ranks together, in work of their own, and none waited for another: the program, no failure",
		      out);
}

static void print_long(FILE *out, const char *before, int label, const json_t *value, double usual_ms)
{
	fprintf(out, "%s%-*s", before, label, "long");
	print_which(out, value);
	fprintf(out, " took %.2f s instead of %.2f s: ", value_number(value, "ms", 0) / 1000, usual_ms / 1000);
	print_why(out, value);
	fputc('\n', out);
}

static void print_uneven(FILE *out, const char *before, int label, const json_t *course)
{
	const json_t *half = json_object_get(course, "half_ms");

	fprintf(out, "%s%-*sdiffer too much to say which are long: half of %lld took %.2f to %.2f s\n", before, label,
		"steps", integer(json_object_get(course, "known")), json_number_value(json_array_get(half, 0)) / 1000,
		json_number_value(json_array_get(half, 1)) / 1000);
}

void course_text_print(FILE *out, const char *before, int label, const json_t *course)
{
	const json_t *longs = json_object_get(course, "long"), *one;
	double usual_ms = value_number(course, "usual_ms", 0);
	size_t i;

	if (!json_is_object(course))
		return;
	if (json_is_true(json_object_get(course, "uneven"))) {
		print_uneven(out, before, label, course);
		return;
	}
	print_first(out, before, label, json_object_get(course, "first"), usual_ms);
	json_array_foreach(longs, i, one) print_long(out, before, label, one, usual_ms);
	if (!json_array_size(longs))
		fprintf(out, "%s%-*snone of %lld stands out: the usual is %.2f s\n", before, label, "steps",
			integer(json_object_get(course, "known")), usual_ms / 1000);
}

void course_text_print_pauses(FILE *out, const char *before, int label, const json_t *course)
{
	const json_t *one;
	double usual_ms = value_number(course, "usual_ms", 0);
	size_t i;

	if (!json_is_object(course) || json_is_true(json_object_get(course, "uneven")))
		return;
	json_array_foreach(json_object_get(course, "long"), i, one)
		if (json_is_true(json_object_get(one, "normal")))
			print_long(out, before, label, one, usual_ms);
}
