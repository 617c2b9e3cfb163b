/* SPDX-License-Identifier: MIT */
/* The operations of one box that must be read again: still in flight, or not yet published. In order of claims. */
#ifndef FEED_UNFINISHED_H
#define FEED_UNFINISHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unfinished_operation {
	uint64_t claim;
	uint64_t since_ns; /* first read */
	uint32_t known, owner, flags; /* as last passed on; known 0: not passed yet */
};

/* Zeroed = empty. */
struct unfinished {
	struct unfinished_operation *operations;
	size_t count, room;
};

/* Behind the others: its claim must be higher than theirs, or unfinished_order() follows. 0 or -ENOMEM. */
int unfinished_add(struct unfinished *unfinished, const struct unfinished_operation *operation);
/* Restores the order; of two with the same claim the one that was passed on stays. */
void unfinished_order(struct unfinished *unfinished);
void unfinished_free(struct unfinished *unfinished);

#endif
