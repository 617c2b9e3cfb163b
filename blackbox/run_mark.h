/* SPDX-License-Identifier: MIT */
/*
 * What became of the run whose black boxes lie in a directory, as an empty file beside them: its time says when it was
 * last so. The collector and `rankwatch run` leave it, and whoever removes the boxes of ended runs looks at it.
 */
#ifndef BLACKBOX_RUN_MARK_H
#define BLACKBOX_RUN_MARK_H

#include <stdbool.h>
#include <stdint.h>

enum run_mark {
	RUN_MARK_FINDINGS, /* one from warning up was found */
	RUN_MARK_FAILED,   /* a launcher's job ended with another status than 0 */
	RUN_MARKS,
};

/* Leaves or renews the mark. directory: of the boxes; must be this user's own, and no symbolic link. 0 or -errno: -ENOENT
 * where no box lies, since a mark alone would keep the directory for nothing. */
int run_mark_leave(const char *directory, enum run_mark mark);
/* CLOCK_REALTIME when the mark was left; 0: never. */
int64_t run_mark_time_ns(const char *directory, enum run_mark mark);
/* Does a black box, saved or not, lie in this open directory? true also where that cannot be read. */
bool run_mark_holds_box(int directory);
/* Removes all marks; `directory` is open. */
void run_mark_clear(int directory);

#endif
