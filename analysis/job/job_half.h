/* SPDX-License-Identifier: MIT */
/*
 * Judges the ranks of many hosts together, by the messages of their collectors (include/rankwatch/message.h): what no single
 * host can see. docs/messages.md, "How they are judged".
 *
 * Pure: no I/O, no clock, no threads; the caller says what time it is, on one clock of its own that only rises. Not thread safe: one owner.
 */
#ifndef ANALYSIS_JOB_JOB_HALF_H
#define ANALYSIS_JOB_JOB_HALF_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"

struct job_half;
struct job_view;

struct job_half_summary {
	uint32_t hosts, silent_hosts; /* that have sent; of them: that send nothing any more and did not end in order */
	uint32_t ranks, communicators;
	int32_t ranks_total;          /* -1 not known */
	uint32_t generation;
	uint64_t batches, messages;   /* taken */
	uint64_t missed;  /* batches that were sent and have not come */
	uint64_t unsent;  /* messages that senders had no room for */
	uint64_t bad;     /* batches that were refused */
	uint64_t ignored; /* messages: of an earlier generation, older than what is known, or beyond a bound */
	uint64_t cuts, unaligned; /* cuts that were judged, and members of them that were cut elsewhere */
	uint32_t findings_opened; /* from warning up */
};

/* `emit` is called with each opened, updated and closed finding, inside of the calls below. `job`: batches of
 * another one are refused; NULL: the first batch says which. NULL on lack of memory. */
struct job_half *job_half_new(const char *job, analysis_emit *emit, void *argument);
/* A batch as it came, in any order, from any sender; bytes need no alignment. 0, -ENOMEM, or -EINVAL: nothing of it was taken, and
 * *why says why, a sentence without an end; why may be NULL. */
int job_half_take(struct job_half *half, const void *bytes, size_t length, uint64_t now_ns, const char **why);
/* Lets time pass: judges, tells, closes. Twice a second or more often. */
void job_half_tick(struct job_half *half, uint64_t now_ns);
/* To the collector of this host: a batch, valid during the call. */
typedef void job_half_ask(void *argument, const char *host, const void *bytes, size_t length);
/* Asks hosts why ranks of theirs are late or do not come; as often as job_half_tick(), behind it. Nothing is asked while all is well. */
void job_half_ask_why(struct job_half *half, uint64_t now_ns, job_half_ask *ask, void *argument);
/* Tells every open finding again as RW_FINDING_OPEN. */
void job_half_replay_open(struct job_half *half, uint64_t now_ns);
/* From now on what ranks' time went to is kept, second by second, for those who look. */
void job_half_keep_course(struct job_half *half);
/* What is known now (analysis/job/job_view.h); valid until it takes or ticks again. */
void job_half_look(const struct job_half *half, struct job_view *view);
void job_half_summarise(const struct job_half *half, struct job_half_summary *summary);
/* Of all that is kept. */
size_t job_half_bytes(const struct job_half *half);
void job_half_free(struct job_half *half);

#endif
