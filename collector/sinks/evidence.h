/* SPDX-License-Identifier: MIT */
/*
 * Keeps what was found beside the black boxes (blackbox/evidence.h), so that it outlives us: each finding in its latest
 * state, with the best of the causes that were seen for it. Goes on with what an earlier collector of the same job kept
 * there. Writes to memory file systems only, and drops what was not reported for longest, first of what is over, when
 * there is too much. One thread.
 */
#ifndef COLLECTOR_SINKS_EVIDENCE_H
#define COLLECTOR_SINKS_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

struct evidence_sink;

/* NULL on lack of memory. quiet: says nothing on stderr. */
struct evidence_sink *evidence_sink_new(const char *job, const char *host, bool quiet);
/* Takes a finding's line. Accepts NULL. */
void evidence_sink_put(struct evidence_sink *sink, const char *line);
/* Writes what is new. directory: of the black boxes; NULL: not known yet, or it does not answer. Accepts NULL. */
void evidence_sink_tick(struct evidence_sink *sink, const char *directory, uint64_t now_ns);
/* The file's name where it holds something that this has not answered for before; else NULL. Accepts NULL. */
const char *evidence_sink_news(struct evidence_sink *sink);
/* Removes the file where the boxes have gone. Accepts NULL, twice. */
void evidence_sink_free(struct evidence_sink *sink, const char *directory);

#endif
