/* SPDX-License-Identifier: MIT */
/* Checks the header of a box that another process wrote. Nothing in it is trusted before it is checked. */
#ifndef BLACKBOX_HEADER_H
#define BLACKBOX_HEADER_H

#include <stdint.h>

#include <rankwatch/blackbox.h>

/*
 * Returns 0 when this program can read a file of that size with that header, and all tables lie inside it; the header
 * is tame then, as after box_header_tame(). Otherwise returns -EINVAL, -EPROTO (another layout, newer features) or -EIO
 * (truncated), and a sentence about `name` in `why` (at least 160 bytes; may be NULL).
 */
int box_header_check(struct rw_box_header *header, uint64_t file_size, const char *name, char *why);
/* Changes the header so that each text is terminated and each count fits its table, whatever the file contained. */
void box_header_tame(struct rw_box_header *header);
/* Writes the formatted sentence to `why`, which is as above. Returns err. */
__attribute__((format(printf, 3, 4))) int box_refuse(char *why, int err, const char *format, ...);

#endif
