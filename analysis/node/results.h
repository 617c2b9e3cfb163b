/* SPDX-License-Identifier: MIT */
/*
 * Reports digests of results that must be bitwise equal on all ranks of a communicator that spans hosts.
 * analysis/values/corruption.h compares the ranks of one host. Where each host has one or two of the ranks, as in data
 * parallelism over hosts of tensor parallelism, only the judge of all hosts can see that one differs.
 *
 * A message has the sum over a row of operations, so that each scanned result counts and little is sent.
 * docs/messages.md, "Results".
 */
#ifndef ANALYSIS_NODE_RESULTS_H
#define ANALYSIS_NODE_RESULTS_H

#include "analysis/known/instances.h"
#include "analysis/node/outbox.h"
#include "analysis/node/roster.h"

enum { RESULTS_FUNCTIONS = 3 /* most functions of a communicator; each has rows of its own */ };
/* A function that was not scanned for this long can lose its rows to another function. */
#define RESULTS_STALE_NS 60000000000u

/* Call this when the scans of the instance are known. It may be called again for the same instance. */
void results_note(struct roster *roster, const struct job *job, const struct instance *instance, struct outbox *outbox,
		  uint64_t now_ns);

#endif
