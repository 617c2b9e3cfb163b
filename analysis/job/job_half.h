/* SPDX-License-Identifier: MIT */
/*
 * The job half judges the ranks of many hosts together, by the messages of their collectors
 * (include/rankwatch/message.h). It finds what no single host can see. docs/messages.md, "How they are judged".
 *
 * It is pure: it has no I/O, no clock and no threads. The caller passes the time, in ns of one monotonic clock of its
 * own. It is not thread safe: one owner calls it.
 */
#ifndef ANALYSIS_JOB_JOB_HALF_H
#define ANALYSIS_JOB_JOB_HALF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"

struct job_half;
struct job_view;

enum { JOB_HALF_NEWS = 640 };

struct job_half_summary {
	uint32_t hosts,
	    silent_hosts; /* hosts that have sent; of them: hosts that have stopped sending and did not end regularly */
	uint32_t ranks, communicators;
	int32_t ranks_total;          /* -1 not known */
	uint32_t generation;
	uint64_t batches, messages;   /* accepted */
	uint64_t missed;  /* batches that were sent but have not arrived */
	uint64_t unsent;  /* messages that their senders had no room for */
	uint64_t bad;     /* batches that were refused */
	uint64_t ignored; /* messages of an earlier generation, older than what is known, or beyond a bound */
	uint64_t rows, unaligned; /* rows that were judged, and members that ended them elsewhere */
	uint32_t findings_opened; /* from warning up */
};

/* Makes a job half, which the caller frees with job_half_free(). NULL on lack of memory. `emit` is called with each
 * opened, updated and closed finding, from within the calls below. Batches of another job than `job` are refused; NULL:
 * the first batch decides which job it is. */
struct job_half *job_half_new(const char *job, analysis_emit *emit, void *argument);
/* Takes a batch as it was received, in any order, from any sender. `bytes` need no alignment and are not kept. Returns
 * 0, -ENOMEM, or -EINVAL: nothing of the batch was taken, and *why is the reason, a sentence without a full stop. why
 * may be NULL. */
int job_half_take(struct job_half *half, const void *bytes, size_t length, uint64_t now_ns, const char **why);
/* Nothing can be received now, or could be since the last tick: the connection is down, or the caller did not run.
 * Hosts are not silent for that. Call it before what has come then is taken, and again at each tick for as long as it
 * is so. */
void job_half_deaf(struct job_half *half, uint64_t now_ns);
/* Advances the time: judges, emits and closes findings. Call it at least twice a second. */
void job_half_tick(struct job_half *half, uint64_t now_ns);
/* Sends a batch to the collector of `host`. The bytes are valid during the call. */
typedef void job_half_ask(void *argument, const char *host, const void *bytes, size_t length);
/* Asks hosts why their ranks are late or missing. Call it after each job_half_tick(). While no rank is, it sends
 * nothing. */
void job_half_ask_why(struct job_half *half, uint64_t now_ns, job_half_ask *ask, void *argument);
/* The next sentence that people should read about who is judged, without a full stop; not escaped. False: there is
 * none. Call it after each job_half_tick(). */
bool job_half_news(struct job_half *half, char line[JOB_HALF_NEWS]);
/* Emits each open finding again as RW_FINDING_OPEN. */
void job_half_replay_open(struct job_half *half, uint64_t now_ns);
/* From now on it keeps how the ranks spent their time, second by second, for display. */
void job_half_keep_course(struct job_half *half);
/* Whether a rank of this host is known to be in the communicator with NCCL's number `comm`. */
bool job_half_is_member(const struct job_half *half, const char *host, uint64_t comm);
/* What is known now (analysis/job/job_view.h). The view is valid until the next job_half_take() or job_half_tick(). */
void job_half_look(const struct job_half *half, struct job_view *view);
void job_half_summarise(const struct job_half *half, struct job_half_summary *summary);
/* Waiting that goes round, as far as the rows of the ranks' time show it: without what the ranks did meanwhile. */
void job_half_tell_turns(const struct job_half *half, struct analysis_turns *told);
/* Memory of everything that it keeps. */
size_t job_half_bytes(const struct job_half *half);
void job_half_free(struct job_half *half);

#endif
