/* SPDX-License-Identifier: MIT */
#include "protocol/turns_text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "finding/finding_json.h"
#include "finding/json_text.h"

enum { TEXT = 512 };

static void add(char text[TEXT], const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(char text[TEXT], const char *format, ...)
{
	size_t length = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, TEXT - length, format, arguments);
	va_end(arguments);
}

static void add_rank(char text[TEXT], int32_t rank)
{
	if (rank < 0)
		add(text, "a rank whose number is not known");
	else
		add(text, "rank %d", (int)rank);
}

static void write_text(char text[TEXT], const struct analysis_turns *turns)
{
	uint32_t named = turns->rank_count < ANALYSIS_TURNS ? turns->rank_count : ANALYSIS_TURNS;

	add(text, "%s%.0f %% of the time by turns: %u times in %lu steps, %.0f ms each; for ",
	    turns->at_least ? "at least " : "", 100 * turns->share, turns->times, (unsigned long)turns->of_steps,
	    turns->each_ms);
	for (uint32_t i = 0; i < named; i++) {
		add(text, "%s", !i ? "" : i + 1 == turns->rank_count ? " and " : ", ");
		add_rank(text, turns->ranks[i].rank);
		add(text, " %u%s", turns->ranks[i].times, i ? "" : turns->ranks[i].times == 1 ? " time" : " times");
	}
	if (turns->rank_count > named)
		add(text, " and %u other%s", turns->rank_count - named, turns->rank_count == named + 1 ? "" : "s");
}

/* Of most of those of which a cause is known. */
static bool collects(const struct analysis_turns *turns)
{
	return turns->collecting && turns->collecting * 2 >= turns->caused;
}

static void write_because(char text[TEXT], const struct analysis_turns *turns)
{
	const char *file = strrchr(turns->file, '/') ? strrchr(turns->file, '/') + 1 : turns->file;

	if (turns->by == RW_LATE_DEVICE)
		add(text, "their GPUs came late");
	if (!turns->caused)
		return;
	uint32_t count = collects(turns) ? turns->collecting : turns->caused;

	add(text, "%s%s, as seen of %u of %u ranks", turns->likely ? "likely " : "",
	    collects(turns) ? "Python collected garbage" : turns->cause, count, turns->seen);
	if (*turns->function)
		add(text, ", in %s (%s:%d)", turns->function, file, (int)turns->line);
}

static const char *advice_of(const struct analysis_turns *turns)
{
	if (turns->by == RW_LATE_DEVICE)
		return NULL;
	if (collects(turns))
		return "collect garbage on all ranks in the same step (gc.disable(), then gc.collect() every N steps), "
		       "or call gc.freeze() for "
		       "long-lived objects";
	if (turns->cause_class == RW_CAUSE_UNKNOWN || turns->cause_class == RW_CAUSE_RUNNING)
		return "let all ranks pause in the same step, which costs the time of one pause: Python's garbage "
		       "collections (gc.freeze(), or "
		       "gc.disable() and gc.collect() every N steps) are the most usual ones";
	return "let all ranks do this in the same step: it then costs its time once, and not once for each rank";
}

static json_t *ranks_json(const struct analysis_turns *turns)
{
	json_t *ranks = json_array();

	for (uint32_t i = 0; i < turns->rank_count && i < ANALYSIS_TURNS; i++)
		json_array_append_new(ranks, json_pack("{s:i, s:i}", "rank", (int)turns->ranks[i].rank, "times",
						       (int)turns->ranks[i].times));
	return ranks;
}

json_t *turns_json(const struct analysis_turns *turns)
{
	char text[TEXT] = "", because[TEXT] = "";

	if (!turns->times)
		return json_null();
	write_text(text, turns);
	write_because(because, turns);
	return json_pack(
	    "{s:i, s:I, s:f, s:b, s:f, s:o, s:i, s:s?, s:s?, s:i, s:i, s:i, s:s?, s:o, s:o, s:i, s:o, s:o, s:s?}",
	    "times", (int)turns->times, "of_steps", (json_int_t)turns->of_steps, "share", turns->share, "at_least",
	    turns->at_least, "each_ms", turns->each_ms, "ranks", ranks_json(turns), "rank_count",
	    (int)turns->rank_count, "by",
	    turns->by == RW_LATE_HOST     ? "host"
	    : turns->by == RW_LATE_DEVICE ? "device"
					  : NULL,
	    "class", turns->caused ? finding_cause_name(turns->cause_class) : NULL, "seen", (int)turns->seen, "caused",
	    (int)turns->caused, "collecting", (int)turns->collecting, "confidence",
	    !turns->caused  ? NULL
	    : turns->likely ? "likely"
			    : "certain",
	    "function", json_printable(turns->function), "file", json_printable(turns->file), "line", (int)turns->line,
	    "text", json_printable(text), "because", json_printable(because), "advice", advice_of(turns));
}

static void print_line(FILE *out, const char *before, int label, const char *name, const json_t *turns, const char *key)
{
	const char *text = json_string_value(json_object_get(turns, key));

	if (!text)
		return;
	fprintf(out, "%s%-*s%s\n", before, label, name, text);
}

void turns_print(FILE *out, const char *before, int label, const json_t *turns)
{
	print_line(out, before, label, "waited", turns, "text");
	print_line(out, before, label, "because", turns, "because");
	print_line(out, before, label, "do", turns, "advice");
}
