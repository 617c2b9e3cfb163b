/* SPDX-License-Identifier: MIT */
/*
 * A feed passes the content of one black box to the analysis. The collector polls it live, again and again; `rankwatch
 * report` replays it. It reads only what is new or unfinished. It is used by one thread at a time.
 */
#ifndef FEED_FEED_H
#define FEED_FEED_H

#include <stdint.h>

#include "analysis/analysis.h"
#include "blackbox/reader.h"
#include "feed/host_samples.h"

struct feed;

/* Takes ownership of an opened reader. `id` must be new to the analysis. NULL on lack of memory; the reader is closed
 * then. */
struct feed *feed_new(struct analysis *analysis, analysis_process_id id, struct box_reader *reader);
void feed_free(struct feed *feed);

/* For a live box: `mount` is called once per file of the process's own samples. NULL, the default: nothing is
 * called. */
void feed_set_mount(struct feed *feed, feed_mount *mount, void *argument);

/* For a live box, before it is polled: sets the process that was proven to be its writer; 0: none was. With 0 the pid
 * is only what the box says: it is reported, but no kernel record is matched with it. */
void feed_set_writer(struct feed *feed, pid_t pid);

/* Passes everything that is new: communicators, operations (again while unfinished), GPU progress, the process's own
 * samples, its end. now_ns is CLOCK_MONOTONIC.
 *
 * The process is added with its first communicator, when its header is complete. Operations are passed in the order of
 * their tickets, except for one whose claim took its thread longer than a second.
 *
 * Returns the number of operations passed, or -errno: the file shrank or changed, so the caller gives it up and reports
 * that; or -ENOMEM: some records may be missing. */
int feed_poll(struct feed *feed, uint64_t now_ns);
/* Number of records that the analysis has refused so far because a field was out of range. */
uint64_t feed_rejected(const struct feed *feed);
/* The error that stopped the feed: 0, or the -errno that feed_poll() returned or that a replay met (the box was read up
 * to there). */
int feed_error(const struct feed *feed);
/* Last time stamp found in the box so far. After a replay it is the present time of a post-mortem. */
uint64_t feed_last_ns(const struct feed *feed);
/* Whether its writer was alive at the last poll, before anything was read. */
enum box_life feed_life(const struct feed *feed);
const struct box_reader *feed_reader(const struct feed *feed);
/* The name of a thread of this process from its own samples; NULL: not known. */
const char *feed_thread_name(const struct feed *feed, uint32_t tid);

/* Replays several boxes that were not polled before, for a post-mortem. It passes them in steps of 100 ms of their own
 * time, each operation in its state at that time, and ticks the analysis after each step, so that this sees the run as
 * it was. Long idle periods are skipped.
 *
 * The end of a process is passed at its last time stamp. A process that lives, or whose state is not known, has no end.
 * `progress` is called from time to time with the number of operations passed and the number in all boxes; it may be
 * NULL. */
typedef void feed_replay_progress(void *argument, uint64_t passed, uint64_t all);
void feed_replay(struct feed *const *feeds, size_t count, struct analysis *analysis, feed_replay_progress *progress,
		 void *argument);

#endif
