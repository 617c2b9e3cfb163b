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

/* When the first process was seen to lack events; UINT64_MAX: none was. */
static uint64_t changed_ns(const struct job *job)
{
	uint64_t first_ns = UINT64_MAX;

	for (uint32_t i = 0; i < job->process_count; i++) {
		uint64_t at_ns = job->processes[i]->mask_ns;
		first_ns = at_ns && at_ns < first_ns ? at_ns : first_ns;
	}
	return first_ns;
}

void mask_doubt_apply(struct record *record, const struct job *job)
{
	struct rw_finding *finding = &record->finding;

	if (!compares_ranks(finding))
		return;
	uint64_t since_ns = changed_ns(job);

	if (since_ns == UINT64_MAX || finding->first_seen_ns + MASK_LOOK_NS < since_ns)
		return;
	/* It stands where there is no more room, too. */
	if (finding->missing_count == RECORD_MISSING)
		finding->missing_count--;
	finding->severity = RW_NOTICE;
	finding->confidence = RW_INCONCLUSIVE;
	record_add_missing(record, "what the ranks have called since NCCL's event mask was changed (by NCCL's RAS "
				   "client, or another program): operations that began after that may not be recorded");
}
