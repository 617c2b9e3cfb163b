/* SPDX-License-Identifier: MIT */
/* Which instance an operation slot is part of, and what the slot says about that instance. */
#ifndef ANALYSIS_IDENTIFY_H
#define ANALYSIS_IDENTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/instances.h"

/* Whether an operation slot of this function is a Send or a Recv. */
bool identify_is_point_to_point(uint8_t function);
/* What the slot is an instance of; for a p2p operation its peer has to be known. */
struct instance_key identify_key(const struct seat *seat, const struct rw_operation *slot);
/* Takes what the slot says about the instance: type, count and root from the first rank that has joined it; operator, algorithm and
 * protocol from whichever rank knows them. */
void identify_describe(struct instance *instance, const struct rw_operation *slot);

#endif
