/* SPDX-License-Identifier: MIT */
/* The black boxes that a command was pointed at, or that this user has on this machine: opened, checked, and sorted
 * into runs (box_runs.h). One thread. */
#ifndef CONSOLE_BOXES_BOXES_H
#define CONSOLE_BOXES_BOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blackbox/reader.h"

struct box_entry {
	char *path;
	struct box_reader reader;
	size_t run; /* equal in one run; runs are numbered from 0, the newest */
};

struct boxes {
	struct box_entry *entries; /* by run, then by rank */
	size_t count;
	size_t run_count;
	size_t refused; /* files that are named as boxes, and directories, that could not be read */
};

/* Called for each file or directory that is refused, with the reason as a sentence. */
typedef void boxes_refuse(void *argument, const char *path, const char *why);

/* Opens every box in `paths`: files, directories, and their direct subdirectories. count 0: the directories of the
 * contract that belong to this user. 0 (also when nothing was found) or -ENOMEM; close in both cases. */
int boxes_open(struct boxes *boxes, char *const *paths, size_t count, boxes_refuse *refuse, void *argument);
/* Opens this user's boxes in memory where ranks that are started now would make theirs: in RANKWATCH_DIR where that is
 * set, else in the directories of the contract. Saved ones are left out, and directories that are not this user's own.
 * As above. */
int boxes_open_in_memory(struct boxes *boxes);
void boxes_close(struct boxes *boxes);

/* CLOCK_REALTIME - CLOCK_MONOTONIC of the recording host, by the newest anchor of the box. */
int64_t box_realtime_offset(const struct rw_box_header *header);
/* The rank that people know: the launcher's, else the rank in the largest communicator, else -1. */
int32_t box_rank(const struct box_reader *reader);

/* Copies the communicator table as far as it is used: *communicators is the caller's to free, in error too; entries
 * with created_ns 0 are empty. 0 or -errno. */
int box_communicators(const struct box_reader *reader, struct rw_communicator **communicators, uint32_t *count);

#endif
