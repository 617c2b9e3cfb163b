/* SPDX-License-Identifier: MIT */
#include "console/compare/comparison_text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/foreign_text.h"
#include "base/paragraph.h"
#include "console/report/job_share.h"
#include "console/trace/operation_arguments.h"
#include "finding/finding_json.h"
#include "finding/rank_list.h"

enum { LABEL = 11, SHOWN = 4 /* of each kind */ };

/* "LABEL      a sentence, broken where the terminal ends" */
static void say(FILE *out, const struct comparison_style *style, const char *colour, const char *label,
		const char *format, ...) __attribute__((format(printf, 5, 6)));
static void say(FILE *out, const struct comparison_style *style, const char *colour, const char *label,
		const char *format, ...)
{
	va_list arguments;
	char *text = NULL;

	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	fprintf(out, "%s%-*s%s", style->colour ? colour : "", LABEL, label, style->colour ? "\033[0m" : "");
	paragraph_print(out, length < 0 ? "(no memory)" : text, LABEL, LABEL, style->width ? style->width : INT_MAX);
	if (length >= 0)
		free(text);
}

static const char good[] = "\033[32m", bad[] = "\033[1;33m", plain[] = "";

/* As its launcher said; -1 not known. */
static int32_t ranks_total(const struct side *side)
{
	return side->boxes.entries[side->first].reader.header.world_size;
}

static void print_side(FILE *out, const struct comparison_style *style, const char *label, const char *path,
		       const struct side *side)
{
	const struct rw_box_header *header = &side->boxes.entries[side->first].reader.header;
	time_t seconds = (time_t)(header->created_realtime_ns / 1000000000);
	char *job = foreign_text(header->job), when[32] = "?", share[JOB_SHARE_TEXT];
	struct tm local;

	if (localtime_r(&seconds, &local))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &local);
	say(out, style, plain, label, "%s: job %s, %s, begun %s", path, job ? job : "?",
	    job_share_text(share, side->count, ranks_total(side)), when);
	free(job);
}

static void print_compared(FILE *out, const struct comparison_style *style, const struct comparison *comparison)
{
	static const char *const names[] = { "A", "B" };

	say(out, style, plain, "compared", "%zu rank%s, %" PRIu64 " calls, %" PRIu64 " scans, %" PRIu64 " digests",
	    comparison->ranks, comparison->ranks == 1 ? "" : "s", comparison->calls, comparison->scans,
	    comparison->digests);
	if (comparison->calls && comparison->span_ms[TIMES_A] > 0)
		say(out, style, plain, "", "from the first of these calls to the last: A %.3g s, B %.3g s (%+.1f %%)",
		    comparison->span_ms[TIMES_A] / 1e3, comparison->span_ms[TIMES_B] / 1e3,
		    (comparison->span_ms[TIMES_B] / comparison->span_ms[TIMES_A] - 1) * 100);
	for (int side = 0; side < TIMES_SIDES; side++) {
		if (comparison->more[side])
			say(out, style, plain, "", "%s goes on for %" PRIu64 " more calls, which are not compared",
			    names[side], comparison->more[side]);
		if (comparison->only[side])
			say(out, style, bad, "RANKS", "%zu rank%s of %s %s no black box in the other run",
			    comparison->only[side], comparison->only[side] == 1 ? "" : "s", names[side],
			    comparison->only[side] == 1 ? "has" : "have");
		if (comparison->lines_only[side])
			say(out, style, bad, "GROUPS",
			    "%zu time%s a rank of %s has a communicator (ranks, name) that the other run has not",
			    comparison->lines_only[side], comparison->lines_only[side] == 1 ? "" : "s", names[side]);
	}
}

/* A communicator without a name is called by its ranks, and they are not those that are spoken of. */
static const char *unnamed(const char *where)
{
	return strncmp(where, "rank", 4) == 0 ? "the communicator of " : "";
}

static void print_parting(FILE *out, const struct comparison_style *style, const struct parting *parting,
			  const char *label, const char *colour)
{
	char ranks[96];

	rank_list_text(ranks, sizeof(ranks), parting->ranks, parting->rank_count);
	say(out, style, colour, label, "rank%s %s on %s%s, %.3f s and %" PRIu64 " calls into run A",
	    parting->rank_count == 1 ? "" : "s", ranks, unnamed(parting->where), parting->where,
	    (double)parting->at_ns / 1e9, parting->before);
	say(out, style, plain, "  A", "%s", parting->in_a);
	say(out, style, plain, "  B", "%s", parting->in_b);
}

static void print_kind(FILE *out, const struct comparison_style *style, const struct comparison *comparison,
		       enum parting_kind kind)
{
	static const char *const labels[] = { "CALLS", "NAN, INF", "MAGNITUDE", "BITS" };
	size_t count = partings_count(&comparison->partings, kind), shown = 0;

	for (size_t i = 0; i < comparison->partings.count && shown < SHOWN; i++) {
		const struct parting *parting = &comparison->partings.list[i];

		if (parting->kind == kind)
			print_parting(out, style, parting, shown++ ? "" : labels[kind],
				      kind == PARTING_BITS && !style->deterministic ? plain : bad);
	}
	if (count > shown)
		say(out, style, plain, "", "and at %zu other places later on (--json has all)", count - shown);
	if (count && kind == PARTING_BITS && !style->deterministic)
		say(out, style, plain, "",
		    "no difference unless the program is deterministic: --deterministic counts it");
}

static void name_operation(char *text, size_t room, const struct times_kind *kind)
{
	const struct rw_operation operation = { .function = kind->function };
	const char *dtype = finding_dtype_name(kind->dtype);

	snprintf(text, room, "%s of %" PRIu64 "%s%s on %s%s", operation_name(&operation), kind->count, dtype ? " " : "",
		 dtype ? dtype : "", unnamed(kind->where), kind->where);
}

static void print_times(FILE *out, const struct comparison_style *style, const struct times *times)
{
	size_t differ = 0, tested = 0;
	char name[256];

	for (size_t i = 0; i < times->kind_count; i++) {
		const struct times_kind *kind = &times->kinds[i];

		tested += kind->ms[TIMES_A] >= 0 && kind->ms[TIMES_B] >= 0;
		if (!kind->differs)
			continue;
		name_operation(name, sizeof(name), kind);
		say(out, style, bad, differ++ ? "" : "TIME",
		    "%s: %.1f ms in A, %.1f ms in B (%+.0f %%; chance %.2g, %zu and %zu times)", name,
		    kind->ms[TIMES_A], kind->ms[TIMES_B], (kind->ms[TIMES_B] / kind->ms[TIMES_A] - 1) * 100,
		    kind->chance, kind->instances[TIMES_A], kind->instances[TIMES_B]);
	}
	if (!tested)
		say(out, style, plain, "time", "no operation has GPU times in both runs");
	else if (!differ)
		say(out, style, plain, "time",
		    "of %zu kinds of operation none took longer or shorter than chance explains", tested);
}

void comparison_print(FILE *out, const struct comparison *comparison, char *const paths[TIMES_SIDES],
		      const struct side sides[TIMES_SIDES], const struct comparison_style *style)
{
	print_side(out, style, "A", paths[TIMES_A], &sides[TIMES_A]);
	print_side(out, style, "B", paths[TIMES_B], &sides[TIMES_B]);
	say(out, style, plain, "level", JOB_SHARE_LEVEL ": what both runs left in their black boxes");
	print_compared(out, style, comparison);
	for (int kind = 0; kind < PARTING_KINDS; kind++)
		print_kind(out, style, comparison, (enum parting_kind)kind);
	print_times(out, style, &comparison->times);
	if (!comparison_differs(comparison, style->deterministic))
		say(out, style, good, "SAME", "%s",
		    comparison->calls ? "no difference was found in what was compared" : "nothing could be compared");
}

static json_t *ranks_json(const struct parting *parting)
{
	json_t *ranks = json_array();

	for (size_t i = 0; i < parting->rank_count; i++)
		json_array_append_new(ranks, json_integer(parting->ranks[i]));
	return ranks;
}

static json_t *partings_json(const struct comparison *comparison, enum parting_kind kind)
{
	json_t *list = json_array();

	for (size_t i = 0; i < comparison->partings.count; i++) {
		const struct parting *parting = &comparison->partings.list[i];

		if (parting->kind == kind)
			json_array_append_new(
			    list, json_pack("{s:s, s:o, s:s, s:s, s:I, s:f}", "communicator", parting->where, "ranks",
					    ranks_json(parting), "a", parting->in_a, "b", parting->in_b, "calls_before",
					    (json_int_t)parting->before, "at_s", (double)parting->at_ns / 1e9));
	}
	return list;
}

static json_t *ms_json(double ms)
{
	return ms < 0 ? json_null() : json_real(ms);
}

static json_t *times_json(const struct times *times)
{
	json_t *list = json_array();

	for (size_t i = 0; i < times->kind_count; i++) {
		const struct times_kind *kind = &times->kinds[i];
		const struct rw_operation operation = { .function = kind->function };

		json_array_append_new(
		    list,
		    json_pack("{s:s, s:s, s:s?, s:I, s:o, s:o, s:I, s:I, s:f, s:b}", "communicator", kind->where,
			      "function", operation_name(&operation), "dtype", finding_dtype_name(kind->dtype), "count",
			      (json_int_t)kind->count, "a_ms", ms_json(kind->ms[TIMES_A]), "b_ms",
			      ms_json(kind->ms[TIMES_B]), "a_times", (json_int_t)kind->instances[TIMES_A], "b_times",
			      (json_int_t)kind->instances[TIMES_B], "chance", kind->chance, "differs", kind->differs));
	}
	return list;
}

static json_t *side_json(const struct comparison *comparison, const char *path, const struct side *side,
			 enum times_side at)
{
	char *job = foreign_text(side->boxes.entries[side->first].reader.header.job);
	json_t *value = json_pack(
	    "{s:s, s:s?, s:I, s:o, s:I, s:I, s:I, s:o}", "path", path, "job", job, "ranks", (json_int_t)side->count,
	    "ranks_total", ranks_total(side) > 0 ? json_integer(ranks_total(side)) : json_null(), "ranks_alone",
	    (json_int_t)comparison->only[at], "communicators_alone", (json_int_t)comparison->lines_only[at],
	    "calls_behind", (json_int_t)comparison->more[at], "span_ms", ms_json(comparison->span_ms[at]));

	free(job);
	return value;
}

json_t *comparison_json(const struct comparison *comparison, char *const paths[TIMES_SIDES],
			const struct side sides[TIMES_SIDES], bool deterministic)
{
	json_t *value = json_pack(
	    "{s:b, s:s, s:o, s:o, s:I, s:I, s:I, s:I}", "same", !comparison_differs(comparison, deterministic), "level",
	    JOB_SHARE_LEVEL, "a", side_json(comparison, paths[TIMES_A], &sides[TIMES_A], TIMES_A), "b",
	    side_json(comparison, paths[TIMES_B], &sides[TIMES_B], TIMES_B), "ranks", (json_int_t)comparison->ranks,
	    "calls_compared", (json_int_t)comparison->calls, "scans_compared", (json_int_t)comparison->scans,
	    "digests_compared", (json_int_t)comparison->digests);

	for (int kind = 0; kind < PARTING_KINDS && value; kind++)
		json_object_set_new(value, parting_name((enum parting_kind)kind),
				    partings_json(comparison, (enum parting_kind)kind));
	if (value)
		json_object_set_new(value, "times", times_json(&comparison->times));
	return value;
}
