/* SPDX-License-Identifier: MIT */
/* Findings on a track: of a rank as instants, at the time since when each was so; of the job as slices, from then to
 * when it was closed, or to the end. None that lies outside of the sink's window. */
#ifndef CONSOLE_TRACE_FINDING_EVENTS_H
#define CONSOLE_TRACE_FINDING_EVENTS_H

#include <jansson.h>

#include "console/trace/event.h"

enum { FINDING_OF_ANY = -1 };

/* How many from `warning` up name `rank`; FINDING_OF_ANY: how many there are. */
size_t finding_events_count(const json_t *findings, int32_t rank);
/* The first that has this id or is of this kind: when it began, on the trace's clock. NULL: there is none that has a
 * time. */
const json_t *finding_events_find(const json_t *findings, const char *name, int64_t realtime_offset_ns,
				  uint64_t *at_ns);
/* realtime_offset_ns: CLOCK_REALTIME of the findings less the trace's time. */
void finding_events_of_rank(struct trace_sink *sink, const struct trace_track *track, const json_t *findings,
			    int32_t rank, int64_t realtime_offset_ns);
/* Each on a track of its own, because they overlap: `first` and those numbered behind it, which are written here. */
void finding_events_of_job(struct trace_sink *sink, const struct trace_track *first, const json_t *findings,
			   int64_t realtime_offset_ns, uint64_t end_ns);

#endif
