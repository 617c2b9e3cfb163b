/* SPDX-License-Identifier: MIT */
/* Reports what makes no progress: unfinished operations, ranks that call nothing, and why. docs/messages.md, "When
 * nothing moves". */
#ifndef ANALYSIS_NODE_STANDING_H
#define ANALYSIS_NODE_STANDING_H

#include "analysis/node/outbox.h"
#include "analysis/node/roster.h"

#define STANDING_AFTER_NS                                                                                              \
	1000000000u /* after this time an unfinished operation, and a communicator without calls, is reported */
#define STANDING_WHY_NS   2000000000u

struct analysis;

/* Queues these messages. Call it once a second. */
void standing_tick(struct roster *roster, const struct analysis *analysis, struct outbox *outbox, uint64_t now_ns);
/* Queues, once for each rank whose process has ended, the operations in which it was then, whatever their age: NCCL
 * ends all ranks within milliseconds of one that fails, and who failed first was in none. Call it with each tick of the
 * roster, so that one batch has both the end and these. */
void standing_tell_ends(struct roster *roster, const struct job *job, struct outbox *outbox, uint64_t now_ns);
/* Whether the process has called nothing for so long that it is reported, and does not wait; and since when it has
 * called nothing. */
bool standing_is_silent(const struct process *process, uint64_t now_ns);
uint64_t standing_since(const struct process *process);
/* Like analysis_suspects(), for such processes. */
size_t standing_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room);

#endif
