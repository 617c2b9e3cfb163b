/* SPDX-License-Identifier: MIT */
/* Saves black boxes beside the event loop, one after the other: compressing and the disk take their time. */
#ifndef COLLECTOR_BOXES_SAVER_H
#define COLLECTOR_BOXES_SAVER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "blackbox/reader.h"

struct saver;

/* NULL and one line on stderr when the directory cannot be used: the collector goes on without. */
struct saver *saver_open(uv_loop_t *loop, const char *directory, const char *job, uint64_t limit);
/* Queues a copy of the box as it will be when its turn comes. The reader stays the caller's and may be closed. Says on
 * stderr what could not be saved. Accepts NULL. */
void saver_save(struct saver *saver, const struct box_reader *reader);
/* Queues a copy of the file of evidence of this name (blackbox/evidence.h), which lies in `directory`. Accepts NULL. */
void saver_save_evidence(struct saver *saver, const char *directory, const char *name);
/* Boxes queued and not written yet; 0 for NULL. */
unsigned saver_pending(const struct saver *saver);
/* Runs the loop until all is written or the time is over; then says what was saved where, and what was not. Accepts
 * NULL. */
void saver_finish(struct saver *saver, uint64_t timeout_ms);
/* Directory of the job's saved boxes, NULL for NULL. */
const char *saver_directory(const struct saver *saver);
/* Nothing failed so far: what is to be looked at lies there. False for NULL. */
bool saver_has_all(const struct saver *saver);
/* After saver_finish(), when the loop has run to its end. */
void saver_close(struct saver *saver);

#endif
