/* SPDX-License-Identifier: MIT */
/*
 * Finds ranks that are missing while ranks of other hosts wait for them. It uses what each host reports about unfinished operations, calls,
 * and the state of its ranks' processes. A rank about which nothing was reported is never named. docs/messages.md, "When nothing moves".
 */
#ifndef ANALYSIS_JOB_STAND_H
#define ANALYSIS_JOB_STAND_H

#include "analysis/findings.h"
#include "analysis/job/world.h"

#define STAND_LOOK_NS    500000000u
#define STAND_FRESH_NS   3500000000u  /* a FLIGHT is sent every second: one that has not come for this long is over */
#define STAND_WHY_NS     6000000000u  /* a WHY is sent every two seconds: one older than this is not used */
#define STAND_GONE_NS    3000000000u  /* wait of others after which a rank that is gone or stopped is reported */
#define STAND_AFTER_NS   3000000000u  /* the same for a rank that makes no progress; three cuts, if that is longer, … */
#define STAND_AFTER_MAX_NS 30000000000u /* … but not longer than this */
#define STAND_UNKNOWN_NS 10000000000u /* the same while no cut is known; a rank that makes progress or is unknown is a notice … */
#define STAND_LIMIT_NS   30000000000u /* … up to this wait, or up to … */
#define STAND_LIMIT_SHARE 0.25        /* … this share of the watchdog's time */
#define STAND_TOGETHER_NS 1000000000u /* later ends are consequences of the first */
#define STAND_BLIND_NS   15000000000u /* for a host that sends nothing while its ranks continue */
enum { STAND_OPEN_MAX = 64 };

/* An open finding as it was reported. */
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

/* An operation of a communicator in which members wait. */
struct stand_place {
	const struct world_comm *comm;
	struct world_flight flight; /* of one of these members … */
	int32_t waiter;             /* … which is this rank of the communicator */
	uint64_t since_ns;          /* when the last of them arrived */
	uint32_t waiters, missing, unknown;
	bool parted; /* members wait in different operations */
	bool by_gpu; /* the GPUs of all of them have arrived */
};

enum stand_presence { STAND_IS_HERE, STAND_IS_MISSING, STAND_IS_UNKNOWN };

/* The member's oldest unfinished operation; NULL: none is older than a second, or none is reported. The world owns it. */
const struct world_flight *stand_flight(const struct world *world, const struct world_member *member, uint64_t now_ns);
/* The same, but NULL where the member does not wait for others in it. */
const struct world_flight *stand_waits_in(const struct world *world, const struct world_member *member, uint64_t now_ns);
/* Finds the operation in which the members wait; where they differ, the one in which a member has waited longest. Transfers between two ranks
 * count only where no member waits in a collective. Missing members are not counted. False: no member waits. */
bool stand_find_place(const struct world *world, const struct world_comm *comm, uint64_t now_ns, struct stand_place *place);
/* Whether it is a transfer between two ranks. */
bool stand_is_transfer(const struct world_flight *flight);
/* Whether two members of one communicator are in the same operation: in the same collective, or in transfers of the same number. */
bool stand_is_same(const struct world_flight *left, const struct world_flight *right);
/* Whether the member has arrived in the operation of `place`. */
enum stand_presence stand_presence(const struct world *world, const struct stand_place *place, const struct world_member *member,
				   uint64_t now_ns);

/* Opens, updates and closes findings. Call it at each tick of the job half. */
void stand_tick(struct stand *stand, struct world *world, struct findings *findings, uint64_t now_ns);

#endif
