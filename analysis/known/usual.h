/* SPDX-License-Identifier: MIT */
/*
 * What the values at one place in the step usually are, per rank and side: bad from the first time on (padding, masks),
 * or clean, and how large. One table for each member of a communicator, by the steps of its own process: whose steps
 * are recognised first is chance, and a transfer between two ranks is at no place that all have. It starts anew when
 * the steps are recognised anew. The calls that a communicator has in CUDA graphs are places of a table that all
 * members share.
 */
#ifndef ANALYSIS_KNOWN_USUAL_H
#define ANALYSIS_KNOWN_USUAL_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/known/values.h"

#define USUAL_BAD_MIN 3 /* times from the first on, then it belongs there */
#define USUAL_GROWTH  2 /* more bad elements than ever, by this factor, are a change */

enum {
	USUAL_MAX = 1 << 19, /* places × ranks × sides of an analysis: 44 MB */
	/* of a table: 32 MB; a call in a graph is at most 2^27, and damage can claim the last */
	USUAL_PLACES = 1 << 22,
};

/* How large the values are, in binades (log2 of the largest magnitude): analysis/values/drift.c. */
struct level {
	float usual;     /* mean of the first times */
	float saturated; /* the same of the share of saturated elements */
	float spread;    /* usual largest distance from the other ranks */
	uint32_t times, compared;
	uint32_t parted, trending[2]; /* times in a row beyond what is usual; trends by enum trend */
	uint64_t since_step;          /* parted */
};

struct usual {
	uint32_t clean, bad;   /* times */
	bool from_start;       /* bad the first time that it was seen */
	bool nan, same_first;  /* while it was: NaN among them; always the same first element */
	bool told;
	uint64_t most, first;  /* … bad elements; first element */
	float absmax;          /* last clean one */
	struct level level;
};

struct usual_table {
	uint32_t version; /* of the steps whose places they are */
	uint32_t places, members;
	struct usual **rows; /* by place: members × 2 */
	uint64_t entries;
	uint32_t trend_place[2]; /* by enum trend: the place that an open finding is about, + 1; 0 none */
};

/* A place in the step of one rank, of a version of its steps. */
struct usual_spot {
	const struct communicator *communicator;
	uint32_t version, place;
	bool replay;
	uint64_t step;
};

/* False: its place is not known, or it has none. */
bool usual_spot(const struct instance *instance, uint32_t member, struct usual_spot *spot);
/* The rank's steps are known, and this is in none of them: an evaluation, a checkpoint. */
bool usual_is_outside(const struct instance *instance, uint32_t member);
/* Whatever the step. */
bool usual_spot_is(const struct usual_spot *spot, const struct usual_spot *other);
/* Where the instance's values are told from the usual ones; NULL: nowhere yet. */
struct usual_table *usual_table(const struct instance *instance, uint32_t member);
/* NULL: no place, no room, or a member that came later than the table. */
struct usual *usual_get(struct analysis *analysis, const struct instance *instance, uint32_t member,
			enum value_side side);
/* The same without making one. */
struct usual *usual_find(const struct instance *instance, uint32_t member, enum value_side side);
/* Bad from the first time on, often enough, and this is no more than that. */
bool usual_covers(const struct usual *usual, const struct rw_scan *scan);
/* Counts one more bad time of those from the start. */
void usual_widen(struct usual *usual, const struct rw_scan *scan);
/* As if it had been so from the start: it has turned out that it harms nothing. */
void usual_accept(struct usual *usual, const struct rw_scan *scan);
/* The same before the steps are known: bad values that come again as they came early, as many and from the same element
 * on. Four kinds of a member's are kept. */
void usual_keep_early(const struct instance *instance, uint32_t member, enum value_side side);
bool usual_came_early(const struct instance *instance, uint32_t member, enum value_side side);
/* … at least twice, less than half of the buffer, and the member brought clean values in between: what has spread is in
 * all that a rank brings. */
bool usual_recurs_early(const struct instance *instance, uint32_t member, enum value_side side);
void usual_free(struct usual_table *table);

#endif
