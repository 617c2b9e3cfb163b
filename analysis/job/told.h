/* SPDX-License-Identifier: MIT */
/* The job half's findings: what they have in common. */
#ifndef ANALYSIS_JOB_TOLD_H
#define ANALYSIS_JOB_TOLD_H

#include "analysis/findings.h"
#include "analysis/job/world.h"

#define TOLD_REASON_NS 20000000000u /* an answer is of the last so long */

/* Subjects of findings (analysis/findings.h) that are not a rank's. */
#define TOLD_HOST (1u << 30) /* | its index */
#define TOLD_COMM (1u << 31) /* | its index */

/* About these world ranks, ascending; NULL on lack of memory. Its evidence is marked as messages'. */
struct record *told_new(const struct world *world, enum rw_kind kind, enum rw_scope scope, const uint32_t *ranks, uint32_t count);
/* Who waits; ascending. */
int told_set_waiting(struct record *record, const uint32_t *ranks, uint32_t count);
void told_set_operation(struct record *record, const struct world_comm *comm, uint8_t function, uint64_t sequence,
			enum rw_phase phase);
/* The cause that the ranks' own host has told, or its threads' samples. */
void told_set_cause(struct record *record, enum rw_cause_class class_, enum rw_level level, const char *text);
/* What the rank's host has answered of late, as cause and evidence; NULL: nothing, and then nothing was set. */
const struct world_reason *told_set_reason(struct record *record, const struct world_rank *rank, uint64_t now_ns);
/* watchdog_ms 0: not known, and nothing is set. */
void told_set_watchdog(struct record *record, uint32_t watchdog_ms, uint64_t waited_ns);
/* NCCL's name, or how many ranks it has. */
const char *told_comm_name(char *text, size_t room, const struct world_comm *comm);

#endif
