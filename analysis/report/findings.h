/* SPDX-License-Identifier: MIT */
/* The life cycle of findings: opened once, updated at changes, closed, and opened again under the same id. */
#ifndef ANALYSIS_REPORT_FINDINGS_H
#define ANALYSIS_REPORT_FINDINGS_H

#include "analysis/analysis.h"
#include "analysis/report/record.h"

enum {
	FINDINGS_MAX = 128, /* open and remembered findings together */
};

struct findings {
	struct record *records[FINDINGS_MAX]; /* oldest first */
	uint32_t count;
	uint32_t opened; /* from warning up */
	uint32_t ended;  /* processes of the job that had ended when the incidents were last checked … */
	bool told;       /* … and a finding was reported since then */
	const struct job *job;
	analysis_emit *emit;
	void *argument;
};

/* Takes ownership of the record: opens it, or updates the open finding of the same kind and subject if it has changed.
 * Where FINDINGS_MAX are open, one that is more severe than some of them closes the oldest of the least severe; any
 * other is not told. */
void findings_tell(struct findings *findings, struct record *record, uint64_t now_ns);
void findings_close(struct findings *findings, enum rw_kind kind, uint32_t subject, uint64_t now_ns);
/* The open finding of that kind and subject, which is about to be closed: for who has other words for what is over.
 * NULL when none is open. */
struct record *findings_over(const struct findings *findings, enum rw_kind kind, uint32_t subject);
void findings_close_all(struct findings *findings, uint64_t now_ns);
/* The open finding of that kind and subject; NULL when none is open. */
const struct record *findings_open(const struct findings *findings, enum rw_kind kind, uint32_t subject);
/* The one that was opened last of that kind and subject, which may be closed; NULL when none is remembered. */
const struct record *findings_latest(const struct findings *findings, enum rw_kind kind, uint32_t subject);
/* Updates findings whose incident has grown, because a consequence was reported or ranks have ended. Call it last in a
 * tick. */
void findings_tick(struct findings *findings, uint64_t now_ns);
void findings_replay_open(struct findings *findings, uint64_t now_ns);
void findings_free(struct findings *findings);

#endif
