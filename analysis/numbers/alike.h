/* SPDX-License-Identifier: MIT */
/*
 * Finds which ranks do the same work at the same place, from the members of the communicators. Ranks that share a
 * collective communicator are alike, and this is transitive. An exception is a communicator of which two members send
 * to each other, directly or through others: those may be stages of a pipeline, whose work differs. So the ranks of one
 * stage are alike in all replicas, and ranks of two stages never are. AlltoAll is sends, too, but is no pipeline.
 */
#ifndef ANALYSIS_NUMBERS_ALIKE_H
#define ANALYSIS_NUMBERS_ALIKE_H

#include <stdbool.h>

#include "analysis/known/job.h"

enum {
	ALIKE_EXCHANGES = 2, /* one of so many AlltoAll may have had nothing for the rank itself, and other Sends are as
			      * few */
};

/* Do its members send to each other by AlltoAll only? Each of them then has a part for itself, too; a stage of a
 * pipeline has nothing to send to itself. */
bool alike_exchange(const struct communicator *communicator);
/* Fills groups, one number for each of the job->rank_count ranks; ranks with equal numbers are alike. exchanges: ranks
 * that make AlltoAll are, too, as where the work of each is compared with its own past: by itself it may differ for
 * good, as one rank's experts have more to do than another's. Returns 0 or -ENOMEM. */
int alike_find(const struct job *job, bool exchanges, uint32_t *groups);

#endif
