/* SPDX-License-Identifier: MIT */
/*
 * Is a member of a lane late by little, but for a minute by as much, and by far more than the others? By what share of
 * the time it was late in each part of the last minutes, and how irregularly it saw operations end. Shares and factors
 * are those of analysis/numbers/late_level.h.
 *
 * A part is PARTS_CUTS cuts or more, and PARTS_S or more. Hosts see by polling when operations begin and end, so that sums over many short
 * operations need longer parts: two and four parts are taken as one, too. In each cut two differences are taken: how much longer than the members' median a
 * member works, and how much less than their median it is inside operations. Both are added up over the part, and the smaller sum counts,
 * so that a member that waits less because it has waited elsewhere is not late.
 */
#ifndef ANALYSIS_JOB_PARTS_H
#define ANALYSIS_JOB_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/job/world.h"
#include "analysis/numbers/late_level.h"

enum {
	PARTS_CUTS = 6,
	PARTS_TOGETHER = 4,  /* parts that are taken as one, at most */
	PARTS_KEPT = PARTS_TOGETHER * LATE_LEVEL_PARTS,
	PARTS_KNOWN = 2,     /* thirds of the cuts of a part in which a member must have been compared */
	PARTS_MEMBERS = 3,   /* members, or hosts: of two it is not known which one differs */
	PARTS_OTHERS = 5,    /* others that must be known; hosts, where the whole host is late */
	PARTS_ENOUGH = 32,   /* with so many others in its own lane, a member is not compared with those of other lanes */
	PARTS_AS_LATE = 64,  /* of so many others one may be nearly as late */
};
#define PARTS_S 12
#define PARTS_UNIT 1e-5      /* of a share that is kept */
#define PARTS_RAGGED 1.5      /* a member that sees ends so many times as irregularly as the median member is not judged … */
#define PARTS_RAGGED_US 200   /* … unless by less than this */

/* 48 bytes of each member. */
struct parts {
	float own, inside; /* sums of the part that is not over, as shares of the cuts */
	float ragged_us;   /* mean difference of its cuts' lengths from the median length; the weight of older cuts decreases */
	uint8_t known;     /* cuts of this part in which it was compared */
	uint8_t count;     /* newest parts in a row that are known, up to PARTS_KEPT */
	bool even;         /* it is late, and was found so evenly */
	int16_t shares[PARTS_KEPT]; /* of the time, in PARTS_UNIT; the newest first */
};

/* Of a lane: the part that is not over. */
struct parts_clock {
	uint32_t cuts;
	double lasted_s;
};

struct lane;
struct lanes;

/* One member of a cut: how much longer it worked than the median, and how much less it was inside, as shares of the
 * cut; and how much its length differs from the median length. */
void parts_note(struct parts *parts, double own, double inside, double uneven_us);
/* A cut of the lane is over, and all its members are noted. True: a part is over, too. */
bool parts_end_cut(struct lane *lane);
/* The member was late, and is no longer: what it was late by is not judged again. */
void parts_forget(struct parts *parts);
/* Whether it was compared in each of so many newest parts, and by what share of the time it was late in them, on
 * average; negative: early. */
bool parts_are_known(const struct parts *parts, uint32_t count);
double parts_mean(const struct parts *parts, uint32_t count);
/* By what share of the time it was late in the last LATE_LEVEL_PARTS parts; 0 where these are not known. */
double parts_share(const struct parts *parts);
/* Whether the member is late evenly, by the last parts of all lanes. */
bool parts_show_late(const struct lanes *lanes, const struct world *world, const struct world_comm *comm, uint32_t member);

#endif
