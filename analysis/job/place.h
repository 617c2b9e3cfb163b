/* SPDX-License-Identifier: MIT */
/* Where the members of a communicator wait, from what their hosts last reported: docs/messages.md, "When nothing
 * moves". */
#ifndef ANALYSIS_JOB_PLACE_H
#define ANALYSIS_JOB_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/job/world.h"
#include "analysis/known/call_order.h"

#define JOB_PLACE_FRESH_NS 3500000000u  /* a FLIGHT is sent every second: one that has not come for this long is over */

/* An operation of a communicator in which members wait. */
struct job_place {
	const struct world_comm *comm;
	struct world_flight flight; /* of one of these members … */
	int32_t waiter;             /* … which is this rank of the communicator */
	uint64_t since_ns;          /* when the last of them arrived */
	uint32_t waiters, missing, unknown;
	bool parted; /* members wait in different operations, or call one differently */
	bool by_gpu; /* the GPUs of all of them have arrived */
};

enum job_place_presence { JOB_PLACE_HERE, JOB_PLACE_MISSING, JOB_PLACE_UNKNOWN };

/* The init of a communicator that the rank is in; NULL: none is reported, or the rank is not known (NULL). The world
 * owns it. */
const struct world_birth *job_place_init(const struct world_rank *rank, uint64_t now_ns);
/* Whether it waits there: it has neither ended nor been stopped. */
bool job_place_waits_in_init(const struct world_rank *rank, uint64_t now_ns);
/* The member's oldest unfinished operation; NULL: none is older than a second, or none is reported. The world owns
 * it. */
const struct world_flight *job_place_flight(const struct world *world, const struct world_member *member,
					    uint64_t now_ns);
/* The same, but NULL where the member does not wait for others in it. */
const struct world_flight *job_place_waits_in(const struct world *world, const struct world_member *member,
					      uint64_t now_ns);
/* Finds the operation in which the members wait; where they differ, the one in which a member has waited longest.
 * Transfers between two ranks count only where no member waits in a collective. Missing members are not counted. False:
 * no member waits. */
bool job_place_find(const struct world *world, const struct world_comm *comm, uint64_t now_ns, struct job_place *place);
/* Whether it is a transfer between two ranks. */
bool job_place_is_transfer(const struct world_flight *flight);
/* Whether two members of one communicator are in the same operation: in the same collective, or in transfers of the
 * same number. */
bool job_place_is_same(const struct world_flight *left, const struct world_flight *right);
/* Whether they have called it alike, too. */
bool job_place_is_same_call(const struct world_flight *left, const struct world_flight *right);
/* The call of a collective. */
struct call job_place_call(const struct world_flight *flight);
/* Whether the member has arrived in the operation of `place`. */
enum job_place_presence job_place_presence(const struct world *world, const struct job_place *place,
					   const struct world_member *member, uint64_t now_ns);

#endif
