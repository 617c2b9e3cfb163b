/* SPDX-License-Identifier: MIT */
/* One of two runs that are compared: its ranks, and the operations of each on each of its communicators. One thread. */
#ifndef CONSOLE_COMPARE_SIDE_H
#define CONSOLE_COMPARE_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "console/boxes/boxes.h"
#include "console/trace/box_operations.h"
#include "console/trace/group_table.h"

struct side {
	struct boxes boxes;
	size_t first, count; /* entries of the run */
	struct group_table groups;
};

/* A rank's calls on one communicator, in order. */
struct side_line {
	char *key;  /* equal in both runs: the communicator's name and ranks, and the how manyth of them it is */
	char *name; /* what people call it, escaped */
	const struct rw_operation **list;
	size_t count;
};

struct side_rank {
	struct box_operations operations;
	struct side_line *lines; /* in order of their keys */
	size_t line_count;
	bool whole;      /* nothing was overwritten: the first call is there */
	bool interposed; /* calls that NCCL announces to nobody are seen, too */
	uint64_t begin_ns; /* of the first call that is kept */
};

/* Opens the newest run of `path`; what is wrong is said under the command's name. 0 or -errno; close in both cases. */
int side_open(struct side *side, char *path, const char *command);
void side_close(struct side *side);
/* World ranks of the run's boxes: the entry of this one, NULL none. */
const struct box_entry *side_find(const struct side *side, int32_t rank);
/* announced: without the calls that only the interposer sees. 0 or -errno; free in both cases. */
int side_rank_read(struct side_rank *rank, const struct side *side, const struct box_entry *entry, bool announced);
void side_rank_free(struct side_rank *rank);
/* NULL none. */
const struct side_line *side_rank_line(const struct side_rank *rank, const char *key);

#endif
