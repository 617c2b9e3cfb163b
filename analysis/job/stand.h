/* SPDX-License-Identifier: MIT */
/*
 * Who has not come while ranks of other hosts wait: by what every host says of unfinished operations, of calls, and of its ranks'
 * lives. Nobody is named of whom nothing was told. docs/messages.md, "When nothing moves".
 */
#ifndef ANALYSIS_JOB_STAND_H
#define ANALYSIS_JOB_STAND_H

#include "analysis/findings.h"
#include "analysis/job/world.h"

#define STAND_LOOK_NS    500000000u
#define STAND_FRESH_NS   3500000000u  /* a flight is told every second: one that was not told for so long is over */
#define STAND_WHY_NS     6000000000u  /* what threads do is told every two */
#define STAND_GONE_NS    3000000000u  /* others have waited so long for one that is gone or stopped */
#define STAND_AFTER_NS   3000000000u  /* for one that does not get on; three cuts, if that is longer, … */
#define STAND_AFTER_MAX_NS 30000000000u /* … but not longer than this */
#define STAND_UNKNOWN_NS 10000000000u /* while no cut is known; and of who gets on, or of whom nobody knows, a notice … */
#define STAND_LIMIT_NS   30000000000u /* … until then, or until … */
#define STAND_LIMIT_SHARE 0.25        /* … so much of the watchdog's time is over */
#define STAND_TOGETHER_NS 1000000000u /* later ends are consequences of the first */
#define STAND_BLIND_NS   15000000000u /* a host that sends nothing, whose ranks go on */
enum { STAND_OPEN_MAX = 64 };

/* As told. */
struct stand_open {
	enum rw_kind kind;
	uint32_t subject;
	bool critical;
	uint64_t seen_ns;
};

struct stand {
	struct stand_open open[STAND_OPEN_MAX];
	uint32_t count;
	uint64_t looked_ns;
};

/* The operation of a communicator in which members stand. */
struct stand_place {
	const struct world_comm *comm;
	struct world_flight flight; /* of one of them */
	uint64_t since_ns;          /* when the last of them had come */
	uint32_t waiters, missing, unknown;
	bool parted; /* members stand in different ones */
	bool by_gpu; /* of all of them the GPU has come */
};

enum stand_presence { STAND_IS_HERE, STAND_IS_MISSING, STAND_IS_UNKNOWN };

/* Its oldest unfinished operation there; NULL: none is older than a second, or nobody says so. */
const struct world_flight *stand_flight(const struct world *world, const struct world_member *member, uint64_t now_ns);
/* The same, if the member waits for others in it. */
const struct world_flight *stand_waits_in(const struct world *world, const struct world_member *member, uint64_t now_ns);
/* Where its members stand; in different operations: that with the most of them. Who is missing is not counted. False: nobody stands. */
bool stand_find_place(const struct world *world, const struct world_comm *comm, uint64_t now_ns, struct stand_place *place);
/* Has the member come there? */
enum stand_presence stand_presence(const struct world *world, const struct stand_place *place, const struct world_member *member,
				   uint64_t now_ns);

void stand_tick(struct stand *stand, struct world *world, struct findings *findings, uint64_t now_ns);

#endif
