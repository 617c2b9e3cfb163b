/* SPDX-License-Identifier: MIT */
/* Which instance an operation slot is part of, and what the slot says about that instance. */
#ifndef ANALYSIS_KNOWN_IDENTIFY_H
#define ANALYSIS_KNOWN_IDENTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/known/instances.h"

/* Whether an operation slot of this function is a Send or a Recv. */
static inline bool identify_is_point_to_point(uint8_t function)
{
	return function == RW_FUNCTION_SEND || function == RW_FUNCTION_RECV;
}
/* What the slot is an instance of; for a p2p operation its peer has to be known. */
struct instance_key identify_key(const struct membership *membership, const struct rw_operation *slot);
/* Takes what the slot says about the instance: type, count and root from the first rank that has joined it; operator,
 * algorithm and protocol from whichever rank knows them. */
void identify_describe(struct instance *instance, const struct rw_operation *slot);
/* Only the latter. */
static inline void identify_detail(struct instance *instance, const struct rw_operation *slot)
{
	if (rw_operator(slot->flags))
		instance->reduction = rw_operator(slot->flags);
	if (slot->known & RW_KNOWN_TASK) {
		instance->algorithm = slot->algorithm;
		instance->protocol = slot->protocol;
	}
}

#endif
