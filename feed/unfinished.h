/* SPDX-License-Identifier: MIT */
/* The operations of one box that must be read again, because they are in flight or not yet published, in order of
 * claims. */
#ifndef FEED_UNFINISHED_H
#define FEED_UNFINISHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unfinished_operation {
	uint64_t claim;
	uint64_t since_ns; /* when it was first read */
	uint32_t known, owner, flags; /* as last passed on; known is 0 before that */
};

/* Zeroed = empty. */
struct unfinished {
	struct unfinished_operation *operations;
	size_t count, room;
};

/* Appends an operation. Its claim must be higher than the others', or the caller calls unfinished_order(). Returns 0 or
 * -ENOMEM. */
int unfinished_add(struct unfinished *unfinished, const struct unfinished_operation *operation);
/* Restores the order. Of two operations with the same claim it keeps the one that was passed on. */
void unfinished_order(struct unfinished *unfinished);
void unfinished_free(struct unfinished *unfinished);

#endif
