/* SPDX-License-Identifier: MIT */
#include "console/trace/finding_events.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "finding/seen_live_text.h"
#include "finding/value.h"

enum { NAME = 256 };

static bool is_of(const json_t *finding, int32_t rank)
{
	const json_t *named;
	size_t i;

	if (value_is(finding, "severity", "notice"))
		return false;
	if (rank == FINDING_OF_ANY)
		return true;
	json_array_foreach(json_object_get(finding, "ranks"), i,
			   named) if (json_integer_value(named) == rank) return true;
	return false;
}

/* "STRAGGLER: rank 0 makes every step 1.03 s longer" */
static void name_of(const json_t *finding, const char *text, char name[NAME])
{
	const char *kind = value_text(finding, "kind");
	size_t i = 0;

	for (; kind && kind[i] && i < 24; i++)
		name[i] = (char)toupper((unsigned char)kind[i]);
	snprintf(name + i, NAME - i, ": %s", text ? text : "");
}

static void add_foreign(struct trace_arguments *arguments, enum trace_key key, char **text, const char *value)
{
	*text = value ? foreign_text(value) : NULL;
	trace_add_text(arguments, key, *text);
}

/* Malloc'ed; NULL: there is none. "write(2); seen live, by eBPF" */
static char *cause_of(const json_t *finding)
{
	const char *cause = value_text(json_object_get(finding, "cause"), "text");
	char *text = NULL;
	size_t size;
	FILE *out = cause || seen_live_text_is(finding) ? open_memstream(&text, &size) : NULL;

	if (!out)
		return NULL;
	fputs(cause ? cause : "", out);
	if (seen_live_text_is(finding)) {
		fputs(cause ? "; " : "", out);
		seen_live_text_write(out, finding);
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

typedef void write_event(struct trace_sink *sink, const struct trace_slice *slice);

static void write_one(struct trace_sink *sink, write_event *write, const struct trace_track *track,
		      const json_t *finding, uint64_t begin_ns, uint64_t end_ns)
{
	struct trace_arguments arguments = { 0 };
	char *texts[6], name[NAME],
	    *text = foreign_text(value_text(finding, "text") ? value_text(finding, "text") : "");

	add_foreign(&arguments, TRACE_TEXT, &texts[0], value_text(finding, "text"));
	char *reported = cause_of(finding);

	add_foreign(&arguments, TRACE_CAUSE, &texts[1], reported);
	free(reported);
	add_foreign(&arguments, TRACE_ADVICE, &texts[2], value_text(finding, "advice"));
	add_foreign(&arguments, TRACE_SEVERITY, &texts[3], value_text(finding, "severity"));
	add_foreign(&arguments, TRACE_CONFIDENCE, &texts[4], value_text(finding, "confidence"));
	add_foreign(&arguments, TRACE_FINDING, &texts[5], value_text(finding, "id"));
	name_of(finding, text, name);
	/* The kind comes from a table, but a long text may have been cut within a character. */
	char *whole = foreign_text(name);

	write(sink, &(struct trace_slice){
			.track = track,
			.category = TRACE_A_FINDING,
			.begin_ns = begin_ns,
			.end_ns = end_ns,
			.name = whole ? whole : "finding",
			.arguments = &arguments,
		    });
	free(whole);
	free(text);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		free(texts[i]);
}

/* False when the finding has no such time. */
static bool time_of(const json_t *finding, const char *key, int64_t realtime_offset_ns, uint64_t *at_ns)
{
	uint64_t realtime_ns = value_time(finding, key);

	if (!realtime_ns || (int64_t)realtime_ns <= realtime_offset_ns)
		return false;
	*at_ns = realtime_ns - (uint64_t)realtime_offset_ns;
	return true;
}

size_t finding_events_count(const json_t *findings, int32_t rank)
{
	const char *id;
	json_t *finding;
	size_t count = 0;

	json_object_foreach((json_t *)findings, id, finding) count += is_of(finding, rank);
	return count;
}

const json_t *finding_events_find(const json_t *findings, const char *name, int64_t realtime_offset_ns, uint64_t *at_ns)
{
	const char *id;
	json_t *finding;

	json_object_foreach((json_t *)findings, id, finding)
		if ((value_is(finding, "id", name) || value_is(finding, "kind", name)) &&
		    time_of(finding, "first_seen", realtime_offset_ns, at_ns))
			return finding;
	return NULL;
}

void finding_events_of_rank(struct trace_sink *sink, const struct trace_track *track, const json_t *findings,
			    int32_t rank, int64_t realtime_offset_ns)
{
	const char *id;
	json_t *finding;
	uint64_t at_ns;

	json_object_foreach((json_t *)findings, id,
			    finding) if (is_of(finding, rank) &&
					 time_of(finding, "first_seen", realtime_offset_ns, &at_ns) &&
					 trace_window_has(&sink->window, at_ns, at_ns))
	    write_one(sink, sink->format->instant, track, finding, at_ns, at_ns);
}

void finding_events_of_job(struct trace_sink *sink, const struct trace_track *first, const json_t *findings,
			   int64_t realtime_offset_ns, uint64_t end_ns)
{
	struct trace_track track = *first;
	uint64_t begin_ns, until_ns;
	const char *id;
	json_t *finding;

	json_object_foreach((json_t *)findings, id, finding)
	{
		if (!is_of(finding, FINDING_OF_ANY) || !time_of(finding, "first_seen", realtime_offset_ns, &begin_ns))
			continue;
		if (!value_is(finding, "state", "closed") || !time_of(finding, "time", realtime_offset_ns, &until_ns))
			until_ns = end_ns;
		if (!trace_window_has(&sink->window, begin_ns, until_ns))
			continue;
		if (until_ns > sink->window.until_ns)
			until_ns = sink->window.until_ns;
		sink->format->track(sink, &track);
		write_one(sink, sink->format->slice, &track, finding, begin_ns,
			  until_ns > begin_ns ? until_ns : begin_ns);
		track.number++;
	}
}
