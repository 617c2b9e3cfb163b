/* SPDX-License-Identifier: MIT */
/*
 * Digests of results that must be the same bits on all ranks of a communicator that spans hosts. The ranks of one host are compared by
 * analysis/corruption.h; where each host has one or two of them, as in data parallelism over hosts of tensor parallelism, only who hears
 * of all hosts sees that one differs. Told is the sum over a row of operations, so that every scanned result counts and little is sent.
 * docs/messages.md, "Results".
 */
#ifndef ANALYSIS_NODE_RESULTS_H
#define ANALYSIS_NODE_RESULTS_H

#include "analysis/instances.h"
#include "analysis/node/outbox.h"
#include "analysis/node/roster.h"

enum { RESULTS_FUNCTIONS = 3 /* of a communicator, with each a row of its own */ };
/* Of one that was not scanned for so long another one takes the place. */
#define RESULTS_STALE_NS 60000000000u

/* What was scanned of it is known. As often as one likes. */
void results_note(struct roster *roster, const struct job *job, const struct instance *instance, struct outbox *outbox, uint64_t now_ns);

#endif
