/* SPDX-License-Identifier: MIT */
/*
 * One black box → the analysis. Used live by the collector (poll again and again) and by `rankwatch report` (poll once).
 * Reads only what is new or unfinished. One owner thread.
 */
#ifndef FEED_FEED_H
#define FEED_FEED_H

#include <stdint.h>

#include "analysis/analysis.h"
#include "blackbox/reader.h"

struct feed;

/* Takes ownership of an opened reader. `id` must be new to the analysis. NULL on lack of memory (reader is closed). */
struct feed *feed_new(struct analysis *analysis, analysis_process_id id, struct box_reader *reader);
void feed_free(struct feed *feed);

/* Passes everything that is new: communicators, operations (again while unfinished), GPU progress, the process's own
 * samples, its end. now_ns: MONOTONIC. Returns the number of slots passed or -errno (file shrank or changed: give it up
 * and say so). */
int feed_poll(struct feed *feed, uint64_t now_ns);
/* Last time stamp found in the box: what "now" is for a post-mortem. */
uint64_t feed_last_ns(const struct feed *feed);
const struct box_reader *feed_reader(const struct feed *feed);
/* Names of this process's threads as its own samples gave them; NULL not known. */
const char *feed_thread_name(const struct feed *feed, uint32_t tid);

/* Post-mortem over several boxes: merges them by time and ticks the analysis in between, so that it sees the run as it
 * was, and then tells it how each process ended. */
void feed_replay(struct feed *const *feeds, size_t count, struct analysis *analysis);

#endif
