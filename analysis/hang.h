/* SPDX-License-Identifier: MIT */
/* Who has not joined while others wait, and who is gone: docs/analysis.md, "Hang and gone". */
#ifndef ANALYSIS_HANG_H
#define ANALYSIS_HANG_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/instances.h"

/* The shortest wait that is called a hang: at least HANG_STEPS steps, at most HANG_AFTER_MAX_NS. */
#define HANG_AFTER_NS         3000000000u
#define HANG_AFTER_MAX_NS     30000000000u
#define HANG_AFTER_UNKNOWN_NS 10000000000u /* while no step is known: start-up, compilation */
#define HANG_STEPS            3
/* A rank that gets on, or that nobody could look at, is only noted until the larger of these. */
#define HANG_PROGRESS_NS        30000000000u
#define HANG_PROGRESS_SHARE     0.25 /* of the watchdog's time */
#define HANG_TRANSFER_NS        10000000000u /* what all have begun and nobody ends: a warning, as few transfers take so long */
#define HANG_PROGRESS_WINDOW_NS 2000000000u
#define HANG_GONE_AFTER_NS      1000000000u
#define HANG_TOGETHER_NS        1000000000u /* later ends and stops are consequences of the first */
#define HANG_SEEN_WITHIN_NS     500000000u /* the end of a process */
#define HANG_SUSPECT_NS         50000000u /* others have waited so long: the caller looks at the missing ranks' threads */

enum {
	HANG_OPEN_MAX = 32,
};

/* One rank that others wait for, as told. */
struct hang {
	uint32_t rank;
	enum rw_kind kind;
	enum rw_severity severity;
	const struct instance *instance;
	uint32_t serial, member;
};

/* An instance in which nobody is missing and which does not go on, as told. */
struct standstill {
	const struct instance *instance; /* NULL none */
	uint32_t serial;
	const struct standstill_shape *shape;
};

struct hangs {
	struct hang open[HANG_OPEN_MAX];
	uint32_t count;
	struct standstill standstill;
	bool circle_told; /* analysis/circle.h */
	uint64_t first_told_ns; /* of those open, from warning up; 0 none */
};

/* Opens, updates and closes findings. */
void hang_tick(struct analysis *analysis, uint64_t now_ns);
size_t hang_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room);

#endif
