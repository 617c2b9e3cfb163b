/* SPDX-License-Identifier: MIT */
/*
 * The file of a box that is still being made, `.<pid>-<time>.new`, and what is left of those whose maker was killed.
 * Who makes one holds the lock on byte 0 and has looked, under the lock, that the file is still there; who removes one
 * takes the same lock first. So a file without a living maker goes, whatever pid namespace it was of, and one that is
 * being made stays. Within a process one at a time: its own lock would not stop it. libc only.
 */
#ifndef BLACKBOX_UNNAMED_H
#define BLACKBOX_UNNAMED_H

enum { BOX_UNNAMED = 64 };

/* Makes an empty, locked file in the directory (O_PATH will do) and its name. The descriptor, or -errno. */
int box_unnamed_make(int directory, char name[BOX_UNNAMED]);
/* Removes what killed makers left in the directory. */
void box_unnamed_clear(int directory);

#endif
