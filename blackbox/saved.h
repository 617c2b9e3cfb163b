/* SPDX-License-Identifier: MIT */
/*
 * A black box kept beyond its memory file system: the same bytes, cut behind the last used slot and compressed with gzip
 * (`zcat` gives the box back, without the zeros at its end). box_reader_open() reads both forms.
 */
#ifndef BLACKBOX_SAVED_H
#define BLACKBOX_SAVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blackbox/reader.h"

#define BOX_SAVED_SUFFIX RW_BOX_SUFFIX ".gz"

enum { BOX_SAVED_NAME = 96, BOX_SAVED_UNFINISHED = BOX_SAVED_NAME + 16 };

/* "rank3-4711-20261121T004512Z.rwbox.gz": rank, pid and when the box was made. The same box has the same name again. */
void box_saved_name(const struct rw_box_header *header, char name[BOX_SAVED_NAME]);

/* The name that box_save(), called by this thread, gives that file until it is whole. */
void box_saved_unfinished(const char *name, char unfinished[BOX_SAVED_UNFINISHED]);

/* Does the name end as a box's does, in either form? */
bool box_is_name(const char *name);

/* Writes what the box holds now to `name` in directory dirfd, mode 0600, under box_saved_unfinished() until it is whole; replaces
 * an older one. The writer may go on meanwhile: an operation is in the copy as it was at one moment, or not at all.
 * `reader` is refreshed. Blocks on the disk. 0 or -errno and a sentence in why[160]. */
int box_save(struct box_reader *reader, int dirfd, const char *name, char *why);

/* For box_reader_open(): is this gzip, and then, where it is no packed box (blackbox/packed.h), its content as an
 * anonymous file of the size the header says. *bytes: that size, to be given to box_saved_forget() when the file is
 * closed: all such files together have BOX_SAVED_MOST at most. fd stays the caller's. Returns the descriptor or -errno
 * and a sentence, which begins with `name`, in why[160]. */
#define BOX_SAVED_MOST (UINT64_C(512) << 20)
bool box_saved_is(int fd);
int box_saved_unpack(int fd, uint64_t *bytes, const char *name, char *why);
void box_saved_forget(uint64_t bytes);
/* The header out of the first bytes that were unpacked; false: of no box, or of one larger than any. */
bool box_saved_header(struct rw_box_header *header, const void *bytes, size_t size);

#endif
