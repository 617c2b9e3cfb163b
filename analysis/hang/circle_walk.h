/* SPDX-License-Identifier: MIT */
/* Follows ranks from each one to the one that it waits for, and finds where that leads back: ranks that wait for each
 * other in a circle. */
#ifndef ANALYSIS_HANG_CIRCLE_WALK_H
#define ANALYSIS_HANG_CIRCLE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#define CIRCLE_NOBODY UINT32_MAX
enum { CIRCLE_RANKS_MAX = 64 /* longer circles are not searched */ };

/* For whom the rank waits; CIRCLE_NOBODY: for nobody, or not for certain. */
typedef uint32_t circle_awaited(const void *argument, uint32_t rank);

/* Walks on from `rank` over ranks that are not marked in `met` (by rank), and marks them. Returns how many ranks the
 * circle has to which this leads, and fills in `ranks` in their order, the lowest first; 0: it leads to none. Ranks
 * that only lead into the circle are left out. */
uint32_t circle_walk(uint32_t rank, circle_awaited *awaited, const void *argument, bool *met,
		     uint32_t ranks[CIRCLE_RANKS_MAX]);

#endif
