/* SPDX-License-Identifier: MIT */
/*
 * Which ranks do the same at the same place, from who is in which communicators. Ranks that share a collective communicator
 * do, and so do theirs, unless two of its members send to each other, directly or through others: those may be stages of a
 * pipeline, whose work differs. So the ranks of one stage in all replicas are alike, and those of two stages never.
 */
#ifndef ANALYSIS_ALIKE_H
#define ANALYSIS_ALIKE_H

#include "analysis/job.h"

/* groups: by rank, job->rank_count of them; alike are those with the same number. 0 or -ENOMEM. */
int alike_find(const struct job *job, uint32_t *groups);

#endif
