/* SPDX-License-Identifier: MIT */
/*
 * Where a NaN or Inf was first: docs/analysis.md, "Whose NaN is it". One story at a time: it begins with a value that
 * is news, is told once the other ranks' scans had time to arrive and it is known what came of it, and ends when
 * something is bad that is news after all ranks were clean again, or nothing bad has been seen for a while.
 */
#ifndef ANALYSIS_VALUES_ORIGIN_H
#define ANALYSIS_VALUES_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/measure/last_bad.h"
#include "analysis/known/values.h"

#define ORIGIN_SETTLE_NS 500000000u    /* from the first news to the search */
#define ORIGIN_LOOK_NS   4000000000u   /* what came of it is looked up so often at least */
#define ORIGIN_CLEAN_NS  10000000000u  /* without bad values, then the story is over */
/* Clean scans of a rank on a communicator, more than a step has before its first padded buffer: from then on a NaN is
 * news without a known place, too, unless it came before, usual_came_early(). */
#define ORIGIN_CLEAN_SCANS 4096u

struct origin {
	bool pending, open;
	bool nan; /* the news was a NaN: Inf that may belong where it is does not explain it */
	enum rw_kind kind;
	enum rw_severity severity;             /* as told */
	uint64_t pending_ns, bad_ns, clean_ns; /* news; last bad value; last clean one */
	uint64_t look_ns;                      /* when the story is to be read again; 0 never */
	struct last_bad last_bad;
	struct instance *beginning;            /* of the open story, while its step is not known; NULL otherwise */
	uint32_t beginning_serial;
	uint32_t maker;     /* of the open story, as told: one rank, JOB_NONE another */
	int64_t maker_step; /* when; -1 not known */
	uint32_t mark;                         /* of the last walk */
};

/* One scan of the instance: counts it at its place, notices news. */
void origin_judge(struct analysis *analysis, struct instance *instance, uint32_t member, enum value_side side,
		  uint64_t now_ns);
/* over: nothing more will come. */
void origin_tick(struct analysis *analysis, bool over, uint64_t now_ns);
enum origin_told {
	ORIGIN_NOTHING, /* nothing bad is left to be seen */
	ORIGIN_WAITS,   /* for what comes of it */
	ORIGIN_NOTICE,  /* it harmed nothing, and is over */
	ORIGIN_STORY,
};

/* Searches and tells, or tells again what has become known of the same beginning and ranks. waited: no more is to be
 * expected. */
enum origin_told origin_tell(struct analysis *analysis, bool waited, uint64_t now_ns);

#endif
