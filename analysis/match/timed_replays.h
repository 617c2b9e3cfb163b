/* SPDX-License-Identifier: MIT */
/*
 * Replays of captured calls of which NCCL reports the times of the kernels (docs/nccl-versions.md, "Replays of CUDA
 * graphs"): instances of their own, which are judged as soon as all ranks have reported theirs.
 */
#ifndef ANALYSIS_MATCH_TIMED_REPLAYS_H
#define ANALYSIS_MATCH_TIMED_REPLAYS_H

#include "analysis/known/instances.h"

struct analysis;

/* Takes a slot with CAPTURED and RW_KNOWN_TASK, written once. Without memory it is not seen. */
void timed_replays_note(struct analysis *analysis, struct process *process, const struct membership *membership,
			const struct rw_operation *slot);

#endif
