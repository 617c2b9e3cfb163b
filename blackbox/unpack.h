/* SPDX-License-Identifier: MIT */
/* What a saved box holds (blackbox/saved.h), for those who open one. */
#ifndef BLACKBOX_UNPACK_H
#define BLACKBOX_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>

/* box_saved_is(): whether the file is gzip. box_saved_unpack(): the content of a gzip file that
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
