/* SPDX-License-Identifier: MIT */
/*
 * A saved box is a black box kept outside of its memory file system: the same bytes, truncated after the last used slot
 * and compressed with gzip (`zcat` restores the box, without the zeros at its end). box_reader_open() reads both forms
 * (blackbox/unpack.h).
 */
#ifndef BLACKBOX_SAVED_H
#define BLACKBOX_SAVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blackbox/reader.h"

#define BOX_SAVED_SUFFIX RW_BOX_SUFFIX ".gz"

enum { BOX_SAVED_NAME = 96, BOX_SAVED_UNFINISHED = BOX_SAVED_NAME + 16 };

/* Makes a name like "rank3-4711-20261121T004512Z.rwbox.gz": rank, pid, and when the box was made. A box always gets the
 * same name. */
void box_saved_name(const struct rw_box_header *header, char name[BOX_SAVED_NAME]);

/* The name that box_save(), called by this thread, gives that file until it is complete. */
void box_saved_unfinished(const char *name, char unfinished[BOX_SAVED_UNFINISHED]);

/* Whether the name has the suffix of a box, in either form. */
bool box_is_name(const char *name);

/* Writes the present content of the box to `name` in directory dirfd, mode 0600, and replaces an older file. Until it
 * is complete the file has the name of box_saved_unfinished(). The writer may continue meanwhile: an operation is in
 * the copy as it was at one moment, or not at all. `reader` is refreshed. It blocks on the disk. Returns 0, or -errno
 * and a sentence in why[160]. */
int box_save(struct box_reader *reader, int dirfd, const char *name, char *why);

#endif
