/* SPDX-License-Identifier: MIT */
/* What is to be said of a rank that others wait for: hang or gone, how bad, how certain, and why. The times are in
 * analysis/hang/hang.h. */
#ifndef ANALYSIS_HANG_HANG_VERDICT_H
#define ANALYSIS_HANG_HANG_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/explain/cause.h"
#include "analysis/measure/waiting.h"

/* A root and the oldest instance in which others wait for it. */
struct hang_root {
	const struct standing *standing;
	uint32_t member, rank;
	const struct process
	    *watchdog; /* whose watchdog ends first of those who wait for it; itself: none of theirs is known */
};

struct hang_verdict {
	enum rw_kind kind;
	enum rw_severity severity;
	enum rw_confidence confidence;
	struct cause cause;
	bool ended_before; /* it waits on a socket on which it has waited before, and that wait ended */
};

/* How long others have to wait until that is called a hang. */
uint64_t hang_verdict_after(const struct analysis *analysis);
/* Until then what gets on is only noted: a share of this process's watchdog, where that is known, and never more than
 * half of it. */
uint64_t hang_verdict_limit(const struct process *watchdog);
/* Whether the rank has waited for its GPU since since_ns, which may run a long kernel, or one that never ends: nobody
 * sees which. Not where an operation of NCCL holds it that all others have ended, nor where the GPU has reported an
 * error. */
bool hang_verdict_is_unseen(const struct analysis *analysis, uint32_t rank, uint64_t since_ns, uint64_t now_ns);
/* False: nothing is to be said yet, and *verdict is not set. */
bool hang_verdict_reach(const struct analysis *analysis, const struct hang_root *root, uint64_t now_ns,
			struct hang_verdict *verdict);

#endif
