/* SPDX-License-Identifier: MIT */
/* Black boxes made by the real writer in a directory of the test's own. */
#ifndef TESTS_UNIT_CONSOLE_CRAFTED_BOX_H
#define TESTS_UNIT_CONSOLE_CRAFTED_BOX_H

#include "blackbox/writer.h"

/* A new directory on a tmpfs; Criterion's process is the test's own, so it is removed at exit. */
const char *crafted_directory(void);

/* A box of `rank` of `job` with one communicator of 8 ranks with this id, in `directory`. */
void crafted_box(struct box_writer *writer, const char *directory, const char *job, int32_t rank, uint64_t comm_id);

/* Appends an AllGather of bf16 in which only what `known` says is filled; returns its ticket. */
uint64_t crafted_operation(struct box_writer *writer, uint64_t sequence, uint32_t known);

#endif
