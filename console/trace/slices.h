/* SPDX-License-Identifier: MIT */
/* The slices of one process before they are written: brought into order, and where they overlap without lying inside
 * each other, onto lanes of their own. One thread. */
#ifndef CONSOLE_TRACE_SLICES_H
#define CONSOLE_TRACE_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slice_kind {
	SLICE_CALL,   /* an operation's call on its thread */
	SLICE_GROUP,  /* several calls of one group; about: the first of them */
	SLICE_GPU,    /* an operation on the GPU */
	SLICE_QUEUED, /* an operation that the GPU never reached */
	SLICE_BLOCKED /* a thread; about: the number of the stay */
};

struct slice {
	uint64_t begin_ns, end_ns;
	uint64_t clipped_ns; /* true length of one that found no lane; 0 it is whole */
	uint32_t track;      /* the caller's number */
	uint16_t lane;
	uint8_t kind;
	bool open;
	uint32_t about;   /* the caller's number of what it shows */
	uint32_t members; /* SLICE_GROUP: calls; SLICE_QUEUED: operations in line */
};

/* Zeroed = empty. */
struct slices {
	struct slice *list;
	size_t count, room;
	bool no_memory;
};

/* More of them on one track at a time: the others are clipped. */
enum { SLICES_LANES = 16 };

/* Without memory it is left out and no_memory set. An end before the begin becomes the begin. */
void slices_add(struct slices *slices, const struct slice *slice);
/* By track, lane and begin; on each lane of a track slices lie inside each other or apart. */
void slices_order(struct slices *slices);
void slices_free(struct slices *slices);

#endif
