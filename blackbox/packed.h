/* SPDX-License-Identifier: MIT */
/*
 * The content of a saved box without unpacking it: gzip members of PACKED_MEMBER bytes each, one behind the other, of
 * which those that are asked for are unpacked, a few at a time. So the boxes of hundreds of ranks are open at once in
 * little memory, whatever they unpack to. One thread at a time.
 */
#ifndef BLACKBOX_PACKED_H
#define BLACKBOX_PACKED_H

#include <stddef.h>
#include <stdint.h>

enum { PACKED_MEMBER = 65536 /* before packing; the last may be shorter */ };

struct packed;

/* Unpacks the file once from its beginning to its end, to see that it is whole, and keeps where each member begins. fd
 * stays the caller's, and must outlive it. -EFBIG: it is made otherwise (by gzip, or by rankwatch before it wrote
 * members): unpack it as a whole. Another -errno comes with a sentence, which begins with `name`, in why[160] (NULL:
 * not wanted). */
int packed_open(struct packed **packed, int fd, const char *name, char *why);
void packed_close(struct packed *packed); /* accepts NULL */
/* As large as the box was; behind what was saved are zeros. */
uint64_t packed_size(const struct packed *packed);
/* 0; -EIO: beyond that size, or the file has changed; or another -errno. */
int packed_read(struct packed *packed, void *buffer, size_t size, uint64_t offset);

#endif
