/* SPDX-License-Identifier: MIT */
/*
 * The ranks that late ones are compared with, as all of them stand in one step: each rank's lateness over so many
 * steps, sorted once, and what the first of them did so far added up once, so that every late rank finds its own peers
 * in it without looking at all of them again. Good for as long as no lateness is noted and no finding is opened or
 * closed.
 */
#ifndef ANALYSIS_LATE_PEERS_H
#define ANALYSIS_LATE_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/late/excursion.h"

enum {
	PEERS_LENGTH_MAX = 48, /* steps that are looked at as one */
};

/* What some ranks did, together. */
struct peers_seen {
	double steps, sum, squares, fourths; /* as in struct excursions */
	double pairs[EXCURSION_LAGS], products[EXCURSION_LAGS];
	uint32_t sizes[EXCURSION_SIZES]; /* of one length */
	double apart; /* one in so many of them is late by itself */
};

struct standing;

struct peers {
	const struct stragglers *stragglers;
	uint64_t step, step_ns; /* which, and how long one takes; 0 not known */
	uint64_t *levels[PEERS_LENGTH_MAX + 1];            /* by length: of all ranks; NULL nobody has asked yet */
	struct standing *standings[PEERS_LENGTH_MAX + 1]; /* by length; NULL nobody has asked yet */
	uint64_t *recent; /* latenesses of the last steps that are near limit_ns, or beyond, ascending; NULL nobody has
			   * asked yet */
	uint64_t recent_limit_ns;
	size_t recent_count;
	bool incomplete; /* there was no memory: what was said since is of no matter */
	bool partial;    /* not all ranks of the job are seen */
};

/* Those that one late rank is compared with. */
struct chosen_peers {
	uint32_t length; /* steps that they, and it, are looked at over */
	uint32_t first, ranks; /* where its group begins among all that are sorted, and so many of it */
	uint32_t units;  /* ranks, or hosts where the whole host is late */
	bool alone;      /* nobody else is of its group */
};

struct peers peers_in(const struct stragglers *stragglers, uint64_t step);
/* Of its group (struct suspect). Leaves out who is as late, too (half of least_ns, in so many steps): it may be at
 * fault as well. All ranks of its host, or a few; false: more are, so that it is what the job does, or nobody is
 * left. */
bool peers_choose(struct peers *peers, const struct suspect *suspect, uint32_t length, uint64_t least_ns,
		  struct chosen_peers *chosen);
/* What they did so far, and what they do now; sizes: of those excursions that are counted as number `with`. */
struct peers_seen peers_add_up(struct peers *peers, const struct chosen_peers *chosen, uint32_t with);
/* How many latenesses of the others, in so many of the last steps, are beyond this part of least_ns, which is limit_ns
 * at least; *all: of how many. The ranks of its group on its host are no others where all of them are as late (half of
 * least_ns, in the last EXCURSION_ROW_MIN steps) and the group has other hosts. */
uint64_t peers_near(struct peers *peers, const struct suspect *suspect, uint64_t limit_ns, uint64_t least_ns,
		    uint64_t *all);
/* A finding was opened or closed; also when they are needed no longer. */
void peers_forget(struct peers *peers);

/* One rank more. */
void peers_seen_add(struct peers_seen *sum, const struct excursions *more);

#endif
