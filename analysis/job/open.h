/* SPDX-License-Identifier: MIT */
/*
 * Findings of the job half that are told anew at each look for as long as they are so. Nobody says when one is over: it
 * is closed when it has not been told for as long as a FLIGHT stays valid.
 */
#ifndef ANALYSIS_JOB_OPEN_H
#define ANALYSIS_JOB_OPEN_H

#include "analysis/report/findings.h"

enum { OPEN_MAX = 64 /* findings of one list at a time */ };

struct open {
	struct open_finding {
		enum rw_kind kind;
		uint32_t subject;
		bool critical; /* it was told as one */
		uint64_t seen_ns;
	} list[OPEN_MAX];
	uint32_t count;
};

bool open_has(const struct open *open, enum rw_kind kind, uint32_t subject);
bool open_has_critical(const struct open *open);
/* Takes ownership of the record: opens its finding, or finds it again. One more than OPEN_MAX is not told. */
void open_tell(struct open *open, struct findings *findings, struct record *record, uint64_t now_ns);
/* Closes this one, where it is open. */
void open_close(struct open *open, struct findings *findings, enum rw_kind kind, uint32_t subject, uint64_t now_ns);
/* Nobody can be heard who would tell again what is open: it is not over. */
void open_hold(struct open *open, uint64_t now_ns);
/* Closes what is not so any more. */
void open_close_over(struct open *open, struct findings *findings, uint64_t now_ns);

#endif
