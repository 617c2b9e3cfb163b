/* SPDX-License-Identifier: MIT */
/* Boxes of one test, in a directory of its own in /dev/shm. */
#ifndef TESTS_UNIT_BLACKBOX_FIXTURE_H
#define TESTS_UNIT_BLACKBOX_FIXTURE_H

#include <sys/types.h>

#include "blackbox/reader.h"
#include "blackbox/writer.h"

/* Makes the directory at the first call, or skips the test aloud where /dev/shm is no tmpfs. */
const char *fixture_directory(void);
/* Removes it. */
void fixture_remove(void);

/* The smallest box (1024 slots), rank 0, in that directory. */
void fixture_create(struct box_writer *writer);
/* Claims, fills and publishes one operation that stays in flight (HOST and GPU pend). Returns its ticket. */
uint64_t fixture_operation(struct box_writer *writer, uint64_t sequence, uint64_t api_ns);
/* Finishes it: every step 1 ms after the one before. */
void fixture_finish(struct box_writer *writer, uint64_t ticket);
/* Opens with a fork in between if you need the lock: closing a reader drops the lock of a writer in this process. */
void fixture_open(struct box_reader *reader, const struct box_writer *writer);
/* How many descriptors this process has open; the same number again means that nothing was forgotten. */
int fixture_descriptors(void);

#endif
