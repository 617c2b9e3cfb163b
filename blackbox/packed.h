/* SPDX-License-Identifier: MIT */
/*
 * Reads the content of a saved box without unpacking all of it. The file is a sequence of gzip members of PACKED_MEMBER
 * bytes each. Only the members that are read are unpacked, a few at a time. So the boxes of hundreds of ranks can be
 * open at once in little memory, whatever their unpacked size. It is used by one thread at a time.
 */
#ifndef BLACKBOX_PACKED_H
#define BLACKBOX_PACKED_H

#include <stddef.h>
#include <stdint.h>

enum { PACKED_MEMBER = 65536 /* bytes before packing; the last member may be shorter */ };

struct packed;

/* Unpacks the file once from beginning to end, to check that it is complete, and notes where each member begins. fd
 * stays the caller's, and must outlive *packed. Returns 0 or -errno. -EFBIG: the file does not have this form (it is
 * made by gzip, or by rankwatch before it wrote members), and must be unpacked as a whole. Any other -errno comes with
 * a sentence, which begins with `name`, in why[160] (may be NULL). */
int packed_open(struct packed **packed, int fd, const char *name, char *why);
void packed_close(struct packed *packed); /* accepts NULL */
/* The size of the original box in bytes. Bytes after what was saved read as zeros. */
uint64_t packed_size(const struct packed *packed);
/* Returns 0; -EIO: the range is beyond that size, or the file has changed; or another -errno. */
int packed_read(struct packed *packed, void *buffer, size_t size, uint64_t offset);

#endif
