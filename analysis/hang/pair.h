/* SPDX-License-Identifier: MIT */
/*
 * A transfer whose two ends differ: one rank sends so much, and the other one waits for more or less. NCCL asks for the
 * same count on both sides and checks nothing. Only one that does not end is told: who receives into more room than is
 * sent may mean it. docs/analysis.md, "Desync".
 */
#ifndef ANALYSIS_HANG_PAIR_H
#define ANALYSIS_HANG_PAIR_H

#include <stdint.h>

#include "analysis/known/call_order.h"
#include "analysis/known/instances.h"

enum {
	PAIR_STEADY = 8, /* transfers of one size before it: who leaves that is likely to be wrong */
};

/* The first one of a communicator that may not end. */
struct pair_parting {
	uint64_t since_ns;           /* when the second of the two was called */
	uint32_t sender, receiver;   /* members */
	struct call sent, received;
	const struct instance *instance; /* still the same while its serial is */
	uint32_t serial;
	uint64_t usual_bytes; /* of the PAIR_STEADY transfers before, all alike; 0: they were not, or not so many were
				 seen */
};

/* The member joins a transfer that its peer has joined; before the instance is described by its slot. Without memory it
 * is not seen. */
void pair_note(const struct instances *instances, struct instance *instance, uint32_t member,
	       const struct rw_operation *slot);

struct analysis;

/* Tells of each communicator with one, once. */
void pair_tick(struct analysis *analysis, uint64_t now_ns);

#endif
