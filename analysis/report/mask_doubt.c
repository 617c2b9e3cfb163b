/* SPDX-License-Identifier: MIT */
#include "analysis/report/mask_doubt.h"

#include <stdbool.h>

/* A wait for the init of a communicator is told by its process, and not by operations. */
static bool compares_ranks(const struct rw_finding *finding)
{
	if (finding->operation.present && finding->operation.phase == RW_PHASE_INIT)
		return false;
	switch (finding->kind) {
	case RW_KIND_HANG:
	case RW_KIND_STRAGGLER:
	case RW_KIND_SLOWDOWN:
	case RW_KIND_DESYNC:
	case RW_KIND_CORRUPTION:
	case RW_KIND_DRIFT:
		return true;
	default:
		return false;
	}
}

void mask_doubt_apply(struct record *record, const struct job *job)
{
	struct rw_finding *finding = &record->finding;

	if (!compares_ranks(finding) || !job->masked_ns || finding->first_seen_ns + MASK_LOOK_NS < job->masked_ns)
		return;
	/* It stands where there is no more room, too. */
	if (finding->missing_count == RECORD_MISSING)
		finding->missing_count--;
	finding->severity = RW_NOTICE;
	finding->confidence = RW_INCONCLUSIVE;
	record_add_missing(record, "what the ranks have called since NCCL's event mask was changed (by NCCL's RAS "
				   "client, or another program): operations that began after that may not be recorded");
}
