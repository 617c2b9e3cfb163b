/* SPDX-License-Identifier: MIT */
/*
 * A mark says how the run whose black boxes are in a directory went. It is an empty file beside them; its time says
 * when that was last so. The collector and `rankwatch run` write marks, and the code that removes the boxes of ended
 * runs reads them.
 */
#ifndef BLACKBOX_RUN_MARK_H
#define BLACKBOX_RUN_MARK_H

#include <stdbool.h>
#include <stdint.h>

enum run_mark {
	RUN_MARK_FINDINGS, /* there was a finding from warning up */
	RUN_MARK_FAILED,   /* a launcher's job ended with another status than 0 */
	RUN_MARK_KEPT,     /* a launcher was asked to keep all boxes: those that were there then */
	RUN_MARKS,
};

/* Makes or renews the mark in the directory of the boxes, which must be this user's own and no symbolic link. Returns 0
 * or -errno; -ENOENT where no box is in it, because a mark without boxes would keep the directory for nothing. */
int run_mark_leave(const char *directory, enum run_mark mark);
/* CLOCK_REALTIME in ns when the mark was last made; 0: never. */
int64_t run_mark_time_ns(const char *directory, enum run_mark mark);
/* Whether a black box, saved or not, is in this open directory; true also where the directory cannot be read. */
bool run_mark_holds_box(int directory);
/* Removes all marks; `directory` is open. */
void run_mark_clear(int directory);

#endif
