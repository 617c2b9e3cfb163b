/* SPDX-License-Identifier: MIT */
/*
 * From where on the records of all ranks can be compared. Each black box keeps the newest operations, so of two ranks
 * one may still have what the other has forgotten; who compares them would take that for a rank that never came. A line
 * is what is numbered alike on the ranks that take part in it: one function of a communicator, or its transfers from
 * one rank to another. One thread.
 */
#ifndef CONSOLE_FLIGHT_RECORDER_COMMON_LINES_H
#define CONSOLE_FLIGHT_RECORDER_COMMON_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "console/trace/box_operations.h"

struct common_line {
	uint64_t communicator;
	int32_t from, to;          /* of a transfer: ranks in the communicator; else -1 */
	uint8_t function;          /* RW_FUNCTION_SEND for both sides of a transfer */
	bool unannounced;          /* counted apart: RW_FLAG_UNANNOUNCED */
	uint64_t first;            /* sequence from which on every rank that has some has all */
	uint64_t first_unfinished; /* that some rank had not ended; UINT64_MAX: none */
	size_t ranks;              /* that have some */
};

/* Zeroed = empty. */
struct common_lines {
	struct common_line *list; /* ordered by common_lines_order() */
	size_t count, room;
	size_t forgetful; /* boxes that have forgotten something */
};

/* The line an operation belongs to, without its numbers; false: it cannot be compared with anything (what a rank sends
 * itself is on no other). */
bool common_line_of(const struct rw_operation *operation, const struct rw_communicator *communicator,
		    struct common_line *line);
/* Notes the operations of one box; forgot: its ring went round. 0 or -ENOMEM. */
int common_lines_add(struct common_lines *lines, const struct box_operations *operations, bool forgot);
/* After the last box. */
void common_lines_order(struct common_lines *lines);
/* Can this operation be compared on all ranks that left a box? ranks: that take part in its line. */
bool common_lines_keep(const struct common_lines *lines, const struct common_line *line, uint64_t sequence,
		       size_t ranks);
void common_lines_free(struct common_lines *lines);

#endif
