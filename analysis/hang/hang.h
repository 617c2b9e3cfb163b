/* SPDX-License-Identifier: MIT */
/* Finds ranks that have not joined while others wait, and ranks that are gone: docs/analysis.md, "Hang and gone". */
#ifndef ANALYSIS_HANG_HANG_H
#define ANALYSIS_HANG_HANG_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/known/instances.h"

/* The shortest wait that is called a hang: at least HANG_STEPS steps, at most HANG_AFTER_MAX_NS. */
#define HANG_AFTER_NS         3000000000u
#define HANG_AFTER_MAX_NS     30000000000u
#define HANG_AFTER_UNKNOWN_NS 10000000000u /* while no step is known: start-up, compilation */
#define HANG_STEPS            3
/* A rank that makes progress, or whose threads could not be sampled, is only a notice until the larger of these. */
#define HANG_PROGRESS_NS        30000000000u
#define HANG_PROGRESS_SHARE     0.25 /* of the watchdog's time … */
#define HANG_PROGRESS_MOST                                                                                             \
	0.5 /* … and at most until this share of it: it must be told before the watchdog ends the job */
#define HANG_TRANSFER_NS                                                                                               \
	10000000000u /* an operation that all have begun and none ends: a warning, as few transfers take so long */
/* A rank that waits for its GPU, which may run a long kernel, is a notice until then, as few take so long, and a
 * warning until the limit of one that makes progress. */
#define HANG_KERNEL_NS   10000000000u
#define HANG_PROGRESS_WINDOW_NS 2000000000u
#define HANG_GONE_AFTER_NS      1000000000u
#define HANG_TOGETHER_NS        1000000000u /* later ends and stops are consequences of the first */
#define HANG_SEEN_WITHIN_NS     500000000u /* the end of a process */
#define HANG_SUSPECT_NS         50000000u /* after this wait of others the caller samples the missing ranks' threads */

enum {
	HANG_OPEN_MAX = 32,
};

/* One rank that others wait for, as reported. */
struct hang {
	uint32_t rank;
	enum rw_kind kind;
	enum rw_severity severity;
	const struct instance *instance;
	uint32_t serial, member;
};

/* An instance in which no rank is missing and which makes no progress, as reported. */
struct standstill {
	const struct instance *instance; /* NULL none */
	uint32_t serial;
	const struct standstill_shape *shape;
};

struct hangs {
	struct hang open[HANG_OPEN_MAX];
	uint32_t count;
	struct standstill standstill;
	bool circle_told; /* analysis/hang/circle.h */
	uint64_t first_told_ns; /* when the first of the open ones from warning up was reported; 0 none */
};

/* Opens, updates and closes findings. */
void hang_tick(struct analysis *analysis, uint64_t now_ns);
/* Like analysis_suspects(), for missing ranks. */
size_t hang_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room);

#endif
