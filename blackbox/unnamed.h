/* SPDX-License-Identifier: MIT */
/*
 * The file of a box that is still being made, `.<pid>-<time>.new`, and the removal of such files whose makers were
 * killed.
 *
 * The maker holds the lock on byte 0 and has checked, under the lock, that the file is still there. A remover takes the
 * same lock first. So a file without a live maker is removed, whatever pid namespace it was made in, and a file that is
 * being made stays. Within a process only one thread may use this at a time, because a process's own lock does not stop
 * it. Uses libc only.
 */
#ifndef BLACKBOX_UNNAMED_H
#define BLACKBOX_UNNAMED_H

enum { BOX_UNNAMED = 64 };

/* Makes an empty, locked file in the directory, which may be open with O_PATH, and its name. Returns the descriptor or
 * -errno. */
int box_unnamed_make(int directory, char name[BOX_UNNAMED]);
/* Removes the files that killed makers left in the directory. */
void box_unnamed_clear(int directory);

#endif
