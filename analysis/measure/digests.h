/* SPDX-License-Identifier: MIT */
/*
 * Buffers that must be the same bits, compared by their digests (the formula: plugin/scan/scan_kernel.h). AllReduce and
 * Broadcast: every result. AllGather: every result against what the ranks brought, put together. Send against Recv.
 * AllToAll, Gather, Scatter: whole buffers say nothing about their parts. Reduce, ReduceScatter: nothing is the same.
 */
#ifndef ANALYSIS_MEASURE_DIGESTS_H
#define ANALYSIS_MEASURE_DIGESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/known/values.h"

struct disagreement {
	bool *wrong; /* by member: differs from what is right, or all seen where that is not known; the caller frees */
	uint32_t wrong_count, seen;
	uint32_t culprit;  /* member; JOB_NONE: not known */
	bool sender;       /* what it sent reached all others changed */
	bool against_sent; /* compared with what was sent, not with each other */
	/* byte of the 16 in which the one changed word is; RW_NO_INDEX: more than one, or not known */
	uint64_t offset;
};

/* True when digests differ that must agree, and `found` is filled. Lack of memory: false. */
bool digests_disagree(const struct instance *instance, struct disagreement *found);

#endif
