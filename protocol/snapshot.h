/* SPDX-License-Identifier: MIT */
/* What the analysis knows at one moment as JSON: docs/protocol.md, "Snapshot". The same for a live job, whose collector
 * sends it, and for one that is played again from its boxes. */
#ifndef PROTOCOL_SNAPSHOT_H
#define PROTOCOL_SNAPSHOT_H

#include <stdint.h>

#include <jansson.h>

#include "analysis/analysis.h"
#include "analysis/job/job_view.h"
#include "protocol/request.h"
#include "protocol/sight.h"

enum { SNAPSHOT_CELLS = 1 << 18 /* at most, of the newest columns */ };

struct snapshot_source {
	const struct analysis *analysis;          /* of the ranks of one host, or of boxes; NULL: */
	const struct job_view *messages;          /* what messages of all hosts say */
	const struct sight *sight;                /* NULL: nobody watches */
	const struct analysis_account *account;   /* for the topic "losses"; NULL: not known */
	const char *job;
	uint64_t now_ns;
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC of the job's host */
};

/* {"snapshot":{…}}, of all topics but findings and hosts, which a live collector adds. since: columns that have not
 * changed since cells.changes was that are left out. New; NULL on lack of memory. */
json_t *snapshot_json(const struct snapshot_source *source, unsigned topics, uint64_t since);
/* One rank with its threads and last operations, or what its host has answered; NULL: no such rank, or no memory. */
json_t *snapshot_rank_json(const struct snapshot_source *source, int32_t rank);

/* As snapshots write them. text: NULL and "" are null; what is not UTF-8 is escaped. ns: CLOCK_MONOTONIC of the
 * source's host; 0 is null. */
json_t *snapshot_text(const char *text);
json_t *snapshot_unix_ms(const struct snapshot_source *source, uint64_t ns);

#endif
