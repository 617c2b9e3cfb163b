/* SPDX-License-Identifier: MIT */
/* The header of a box that somebody else wrote: nothing in it is believed before it is checked. */
#ifndef BLACKBOX_HEADER_H
#define BLACKBOX_HEADER_H

#include <stdint.h>

#include <rankwatch/blackbox.h>

/*
 * 0 when this program can read a file of that size with that header, all tables inside it; the header is tame then.
 * Otherwise -EINVAL, -EPROTO (another layout, newer features) or -EIO (truncated), and a sentence about `name` in `why`
 * (at least 160 bytes; NULL: not wanted).
 */
int box_header_check(struct rw_box_header *header, uint64_t file_size, const char *name, char *why);
/* Every text is terminated, every count fits its table, whatever the file says. */
void box_header_tame(struct rw_box_header *header);
/* The sentence into `why` as above. Returns err. */
__attribute__((format(printf, 3, 4))) int box_refuse(char *why, int err, const char *format, ...);

#endif
