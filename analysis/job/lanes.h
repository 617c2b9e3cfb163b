/* SPDX-License-Identifier: MIT */
/*
 * Who works longer than those that do the same, by equal cuts of communicators that span hosts. A lane is a communicator whose members
 * are compared: no two of them are stages of one pipeline, and its cuts come often enough. Of a cut a member is late by what it
 * works longer than the members' median and is inside of operations less than they are, the smaller of the two; time nobody saw is neither.
 * All of a rank's time counts, whatever communicator cuts it: so who waits less here because it has waited elsewhere, for a rank of
 * its own host, is not late. Whether that is beyond chance analysis/excursion.h says, whose steps are cuts here.
 */
#ifndef ANALYSIS_JOB_LANES_H
#define ANALYSIS_JOB_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/job/world.h"
#include "analysis/straggler.h"

#define LANES_WINDOW_NS   2000000000u  /* latenesses are told as of a cut that lasts so long */
#define LANES_SHARE_MIN   0.04         /* of it */
#define LANES_NOISE_LASTS 0.5         /* of noise so much may be left in the next cut, which holds some steps: as SUMS_NOISE_LASTS */
#define LANES_CUT_MIN_US  900000u      /* shorter ones are judged with the next */
#define LANES_WAIT_NS     5000000000u  /* for the messages of all members */
#define LANES_GONE_NS     30000000000u /* a member that was not cut for so long is not waited for … */
#define LANES_OFTEN_MS    8000u        /* cuts that come so often are the better ones to judge by */
#define LANES_LOOK_NS     10000000000u
#define LANES_UNEVEN      0.02         /* of the cut: members that disagree so much on how long it took were cut apart … */
#define LANES_UNEVEN_US   30000u       /* … unless by less than this */
enum {
	LANES_UNLIKE = 16,  /* who has one in so many operations more or less than the median does not do the same */
	LANES_TOLD = 12,    /* cuts that the cost is told of */
	LANES_RECENT = 8,   /* cuts that say how a rank is now */
};

struct lane_member {
	double late, host, device; /* µs of late cuts; each counts less with each one that follows */
	uint32_t clean; /* cuts in a row */
	bool judged;    /* in the newest cut */
};

struct lane {
	struct stragglers watched; /* suspects by member of the communicator; its steps are cuts */
	struct lane_member *members;
	uint32_t room;
	struct world_mark base; /* the end of the cut that was judged last; function 0: none */
	uint64_t number;        /* of cuts that were judged */
	uint32_t compared, hosts; /* members and hosts of the newest */
	double lasted_s;        /* the newest */
};

struct lanes {
	uint64_t changes, looked_ns; /* of the world, when lanes were chosen last */
	uint32_t *judged;            /* indexes of communicators that have a lane */
	uint32_t count, room;
	uint64_t cuts, unaligned;
};

/* Chooses lanes, and judges the cuts that have come. */
void lanes_tick(struct lanes *lanes, struct world *world, uint64_t now_ns);
/* By which member's lateness a cut was longer, of the latest `count` late ones: a share of the time. 0 none. */
double lane_share(const struct lane *lane, uint32_t member, uint32_t count);
/* How late it was on average in the newest LANES_RECENT cuts, or as many as there are: a share of the time. */
double lane_recent(const struct lane *lane, uint32_t member);
static inline bool lane_is_late(const struct lane *lane, uint32_t member)
{
	return member < lane->watched.suspect_count && lane->watched.suspects[member].decided_ns;
}
size_t lanes_bytes(const struct lanes *lanes, const struct world *world);
/* Before the world's communicators are forgotten. */
void lanes_forget(struct lanes *lanes, struct world *world);

#endif
