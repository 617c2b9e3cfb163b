/* SPDX-License-Identifier: MIT */
/* What stands: unfinished operations, ranks that call nothing, and why. docs/messages.md, "When nothing moves". */
#ifndef ANALYSIS_NODE_STANDING_H
#define ANALYSIS_NODE_STANDING_H

#include "analysis/node/outbox.h"
#include "analysis/node/roster.h"

#define STANDING_AFTER_NS 1000000000u /* an operation is told, and a communicator on which nothing is called */
#define STANDING_WHY_NS   2000000000u

struct analysis;

/* Once a second. */
void standing_tick(struct roster *roster, const struct analysis *analysis, struct outbox *outbox, uint64_t now_ns);
/* Has it called nothing for so long that it is told, and waits for nobody? Since when it has called nothing. */
bool standing_is_silent(const struct process *process, uint64_t now_ns);
uint64_t standing_since(const struct process *process);
size_t standing_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room);

#endif
