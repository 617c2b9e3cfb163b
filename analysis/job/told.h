/* SPDX-License-Identifier: MIT */
/* Common parts of the job half's findings. int results are 0 or -ENOMEM. */
#ifndef ANALYSIS_JOB_TOLD_H
#define ANALYSIS_JOB_TOLD_H

#include "analysis/report/findings.h"
#include "analysis/job/world.h"

#define TOLD_REASON_NS 20000000000u /* an answer older than this is not used */

/* Subjects of findings (analysis/report/findings.h) that are not ranks. */
#define TOLD_HOST (1u << 30) /* | its index */
#define TOLD_COMM (1u << 31) /* | its index */
#define TOLD_CIRCLE UINT32_MAX
#define TOLD_JOB (UINT32_MAX - 1)
/* Subjects in the init of a communicator. */
#define TOLD_INIT (1u << 29)         /* | the rank that does not come */
#define TOLD_INIT_UNKNOWN                                                                                              \
	(1u << 28) /* with TOLD_INIT | the rank that came first, where it is not known which rank does not come */
#define TOLD_INIT_CIRCLE (TOLD_INIT | TOLD_INIT_UNKNOWN | 1u << 27)

/* Makes a record about these world ranks, ascending. NULL on lack of memory. Its evidence is marked as coming from
 * messages. */
struct record *told_new(const struct world *world, enum rw_kind kind, enum rw_scope scope, const uint32_t *ranks,
			uint32_t count);
/* Sets the ranks that wait; ascending. */
int told_set_waiting(struct record *record, const uint32_t *ranks, uint32_t count);
void told_set_operation(struct record *record, const struct world_comm *comm, uint8_t function, uint64_t sequence,
			enum rw_phase phase);
/* Writes how the rank's process has ended, "killed by signal 9". Returns `text`. */
const char *told_end(char *text, size_t room, const struct world_rank *rank);
/* Sets the cause, as reported by the ranks' own host or as seen in samples of their threads. */
void told_set_cause(struct record *record, enum rw_cause_class class_, enum rw_level level, const char *text);
/* Sets cause and evidence from the recent answer of the rank's host, and returns the answer. NULL: there is none, and
 * nothing was set. */
const struct world_reason *told_set_reason(struct record *record, const struct world_rank *rank, uint64_t now_ns);
/* Sets the watchdog. watchdog_ms 0: not known, and nothing is set. */
void told_set_watchdog(struct record *record, uint32_t watchdog_ms, uint64_t waited_ns);
/* Writes NCCL's name of the communicator, or how many ranks it has, or else its id, to `text` of `room` bytes. Returns
 * `text`. */
const char *told_comm_name(char *text, size_t room, const struct world_comm *comm);

#endif
