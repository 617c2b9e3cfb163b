/* SPDX-License-Identifier: MIT */
/* The life of findings: opened once, updated when something changed, closed, opened again under the same id. */
#ifndef ANALYSIS_FINDINGS_H
#define ANALYSIS_FINDINGS_H

#include "analysis/analysis.h"
#include "analysis/record.h"

enum {
	FINDINGS_MAX = 128, /* open and remembered */
};

struct findings {
	struct record *records[FINDINGS_MAX]; /* oldest first */
	uint32_t count;
	uint32_t opened; /* from warning up */
	uint32_t ended;  /* processes of the job that had ended when the incidents were looked at last … */
	bool told;       /* … and something was told since */
	const struct job *job;
	analysis_emit *emit;
	void *argument;
};

/* Takes the record: opens it, or updates the open one of the same kind and subject when it says something new. */
void findings_tell(struct findings *findings, struct record *record, uint64_t now_ns);
void findings_close(struct findings *findings, enum rw_kind kind, uint32_t subject, uint64_t now_ns);
void findings_close_all(struct findings *findings, uint64_t now_ns);
/* NULL when none is open. */
const struct record *findings_open(const struct findings *findings, enum rw_kind kind, uint32_t subject);
/* Updates findings whose incident has grown: what follows from them was told, or ranks have ended. Last of a tick. */
void findings_tick(struct findings *findings, uint64_t now_ns);
void findings_replay_open(struct findings *findings, uint64_t now_ns);
void findings_free(struct findings *findings);

#endif
