/* SPDX-License-Identifier: MIT */
/*
 * Finds ranks that work longer than others that do the same work, by equal cuts of communicators that span hosts. A lane is a
 * communicator whose members are compared: no two of them are stages of one pipeline, and its cuts come often enough.
 *
 * A member's lateness in a cut is the smaller of two differences: how much longer than the members' median it works, and how much less
 * than their median it is inside operations. Unseen time belongs to neither.
 *
 * All of a rank's time counts, whichever communicator cuts it. So a rank that waits less here because it has waited elsewhere, for a rank
 * of its own host, is not late. analysis/late/excursion.h decides whether lateness is beyond chance; its steps are cuts here. What is late by
 * too little for it, but evenly, is found by analysis/job/parts.h.
 */
#ifndef ANALYSIS_JOB_LANES_H
#define ANALYSIS_JOB_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/job/parts.h"
#include "analysis/job/world.h"
#include "analysis/late/straggler.h"

#define LANES_WINDOW_NS   2000000000u  /* lateness is scaled to a cut of this length */
#define LANES_SHARE_MIN   0.04         /* least share of it that counts as late */
#define LANES_NOISE_LASTS 0.5         /* this share of noise may persist into the next cut, which holds some steps */
#define LANES_CUT_MIN_US  900000u      /* shorter cuts are judged together with the next one */
#define LANES_WAIT_NS     5000000000u  /* waits this long for the messages of all members */
#define LANES_GONE_NS     30000000000u /* a member without a cut for this long is not waited for … */
#define LANES_OFTEN_MS    8000u        /* cuts that come at least this often are preferred for judging */
#define LANES_LOOK_NS     10000000000u
#define LANES_UNEVEN      0.02         /* share of the cut: members that differ by so much in its length were not cut equally … */
#define LANES_UNEVEN_US   30000u       /* … unless by less than this */
enum {
	LANES_UNLIKE = 16,  /* a member that differs from the median by one in this many operations does not do the same */
	LANES_TOLD = 12,    /* number of latest cuts that the reported cost covers */
	LANES_RECENT = 8,   /* number of newest cuts that say how late a rank is now */
};

struct lane_member {
	double late, host, device; /* µs of late cuts; the weight of a cut decreases with each later one */
	uint32_t clean; /* cuts in a row without lateness */
	bool judged;    /* was judged in the newest cut … */
	bool turns;     /* … and by it became late, or is late no longer */
	struct parts parts;
};

struct lane {
	struct stragglers watched; /* its suspects are indexed by member of the communicator; its steps are cuts */
	struct lane_member *members;
	uint32_t room;
	struct world_mark base; /* the end of the cut that was judged last; function 0: none */
	uint64_t number;        /* number of cuts that were judged */
	uint32_t compared, hosts; /* members and hosts of the newest cut */
	double lasted_s;        /* length of the newest cut */
	struct parts_clock part;
};

struct lanes {
	uint64_t changes, looked_ns; /* of the world and the time, when lanes were chosen last */
	uint32_t *judged;            /* indexes of communicators that have a lane */
	uint32_t count, room;
	uint64_t cuts, unaligned;
};

/* Chooses lanes, and judges the cuts that have arrived. */
void lanes_tick(struct lanes *lanes, struct world *world, uint64_t now_ns);
/* By how much this member's lateness prolonged the latest `count` cuts in which it was late, as a share of the time; of
 * a member that is late evenly, the last parts (analysis/job/parts.h), late or not. 0: none. */
double lane_share(const struct lane *lane, uint32_t member, uint32_t count);
/* Its average lateness in the newest LANES_RECENT cuts, or in as many as there are, as a share of the time. */
double lane_recent(const struct lane *lane, uint32_t member);
static inline bool lane_is_late(const struct lane *lane, uint32_t member)
{
	return member < lane->watched.suspect_count && lane->watched.suspects[member].decided_ns;
}
/* The least share of the time by which it must be late: LANES_SHARE_MIN, or LATE_LEVEL_SHARE where it was found to be late
 * evenly. */
double lane_least_share(const struct lane *lane, uint32_t member);
size_t lanes_bytes(const struct lanes *lanes, const struct world *world);
/* Frees all lanes. Call it before the world's communicators are forgotten. */
void lanes_forget(struct lanes *lanes, struct world *world);

#endif
