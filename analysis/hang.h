/* SPDX-License-Identifier: MIT */
/* Who has not joined while others wait, and who is gone: docs/findings.md, "Hang and gone". */
#ifndef ANALYSIS_HANG_H
#define ANALYSIS_HANG_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/instances.h"

/* The shortest wait that is called a hang; longer for jobs with longer steps or waits. */
#define HANG_AFTER_NS 3000000000u
#define HANG_AFTER_MAX_NS 30000000000u
#define HANG_STEPS 3 /* … at least so many steps */
/* A rank that gets on is only noted until max(HANG_PROGRESS_NS, HANG_PROGRESS_SHARE of the watchdog). */
#define HANG_PROGRESS_NS 30000000000u
#define HANG_PROGRESS_SHARE 0.25
#define HANG_GONE_AFTER_NS 1000000000u
#define HANG_SUSPECT_NS 50000000u /* others have waited: the caller looks at the missing ranks' threads */

struct hangs {
	uint64_t checked_ns;
	uint64_t gone_told_ns; /* the first death that made others wait: what follows is its consequence */
};

/* Opens, updates and closes findings. */
void hang_tick(struct analysis *analysis, uint64_t now_ns);
size_t hang_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room);

#endif
