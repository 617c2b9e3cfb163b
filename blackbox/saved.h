/* SPDX-License-Identifier: MIT */
/*
 * A saved box is a black box kept outside of its memory file system: the same bytes, truncated after the last used slot and
 * compressed with gzip (`zcat` restores the box, without the zeros at its end). box_reader_open() reads both forms.
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

/* For box_reader_open(). box_saved_is(): whether the file is gzip. box_saved_unpack(): the content of a gzip file that
 * is no packed box (blackbox/packed.h), as an anonymous file of the size that the header says. *bytes is that size,
 * which the caller gives to box_saved_forget() when it closes the file: all such files together have at most
 * BOX_SAVED_MOST bytes. fd stays the caller's. Returns the descriptor, or -errno and a sentence, which begins with
 * `name`, in why[160]. */
#define BOX_SAVED_MOST (UINT64_C(512) << 20)
bool box_saved_is(int fd);
int box_saved_unpack(int fd, uint64_t *bytes, const char *name, char *why);
void box_saved_forget(uint64_t bytes);
/* Takes the header from the first unpacked bytes. False: they are of no box, or of one that is larger than any can
 * be. */
bool box_saved_header(struct rw_box_header *header, const void *bytes, size_t size);

#endif
