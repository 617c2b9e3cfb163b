/* SPDX-License-Identifier: MIT */
/*
 * The findings about ranks that do not come to the init of a communicator, as far as they are the same whoever judges:
 * one host (inits.h, init_circle.h), or many by their messages (job/births.h). docs/analysis.md, "Init".
 */
#ifndef ANALYSIS_HANG_INIT_FINDING_H
#define ANALYSIS_HANG_INIT_FINDING_H

#include "analysis/analysis.h"
#include "analysis/hang/gatherings.h"
#include "analysis/hang/init_circle.h"
#include "analysis/report/record.h"

#define INIT_STOPPED_NS 3000000000u
/* Ranks start one after the other, and load code and data before they meet. */
#define INIT_AFTER_NS 10000000000u
/* For a rank that was never seen, it is not even known whether its launcher has started it. */
#define INIT_UNSEEN_NS UINT64_C(30000000000)

/* For how long others have waited for a rank in this state, and it was in this state, before it is told. UINT64_MAX:
 * never: before they meet, ranks prepare what others need not. */
uint64_t init_finding_after_ns(enum analysis_absence absence);
/* Of a rank in such a state. */
enum rw_kind init_finding_kind(enum analysis_absence absence);
bool init_finding_has_process(enum analysis_absence absence);
/* Begins the finding about a rank that is missing there. The caller sets its level and watchdog, and a cause where the
 * rank's threads were seen. Returns 0 or -ENOMEM. */
int init_finding_begin(struct record *record, enum analysis_absence absence, const struct gathering *gathering,
		       uint64_t now_ns);
/* Ends it with what was not seen and its text. pid: of a process that has ended. */
void init_finding_end(struct record *record, enum analysis_absence absence, int32_t pid,
		      const struct gathering *gathering, bool cause_seen);
/* The rank, which has never been in a communicator, is held up by this, and the others wait for its first: where that
 * is work or data, the advice is about where such work belongs. After its cause. */
void init_finding_advise_first(struct record *record, enum rw_cause_class class_);
/* Writes all of the finding about a circle but its watchdog. Returns 0 or -ENOMEM. */
int init_finding_write_circle(struct record *record, const struct init_circle *circle, uint64_t now_ns);

#endif
