/* SPDX-License-Identifier: MIT */
/*
 * One black box → the analysis. Used live by the collector (poll again and again) and by `rankwatch report` (replay).
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

/* Names the file system and the device behind a device number (makedev) as the box's process sees them; leaves "" what
 * it does not know. The arrays come filled with 0. */
typedef void feed_mount(void *argument, uint64_t device, char file_system[16], char device_name[32]);
/* For a live box: who to ask about the files of the process's own samples, once per file. NULL (at first): nobody. */
void feed_set_mount(struct feed *feed, feed_mount *mount, void *argument);

/* For a live box, before it is polled: the process that was proven to be its writer; 0: none was. Then its pid is only
 * what the box says: it is told, and no record of the kernel's is matched with it. */
void feed_set_writer(struct feed *feed, pid_t pid);

/* Passes everything that is new: communicators, operations (again while unfinished), GPU progress, the process's own
 * samples, its end. The process is announced with its first communicator, when its header is complete. Operations go in
 * order of tickets, but for one whose claim took its thread longer than a second. now_ns: MONOTONIC. Returns the number
 * of slots passed or -errno (file shrank or changed: give it up and say so; -ENOMEM: some may be missing). */
int feed_poll(struct feed *feed, uint64_t now_ns);
/* Records that the analysis refused (a field out of range) so far. */
uint64_t feed_rejected(const struct feed *feed);
/* What stopped it: 0, or the -errno that feed_poll() returned or a replay met (the box was read up to there). */
int feed_error(const struct feed *feed);
/* Last time stamp found in the box so far: after a replay, what "now" is for a post-mortem. */
uint64_t feed_last_ns(const struct feed *feed);
/* Whether its writer lived when it was last polled, before anything was read. */
enum box_life feed_life(const struct feed *feed);
const struct box_reader *feed_reader(const struct feed *feed);
/* Names of this process's threads as its own samples gave them; NULL not known. */
const char *feed_thread_name(const struct feed *feed, uint32_t tid);

/* Post-mortem over several boxes that were not polled before: passes them in steps of 100 ms of their own time, each
 * operation as far as it was by then, and ticks the analysis after each step (long idle stretches are skipped), so that
 * it sees the run as it was. Tells it how each process ended at that process's last time stamp; one that lives, or of
 * which nobody knows, has no end. progress: called now and then with how many of all operations in the boxes have been
 * passed; NULL nobody is. */
typedef void feed_replay_progress(void *argument, uint64_t passed, uint64_t all);
void feed_replay(struct feed *const *feeds, size_t count, struct analysis *analysis, feed_replay_progress *progress, void *argument);

#endif
