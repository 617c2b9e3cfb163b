/* SPDX-License-Identifier: MIT */
/*
 * Reports which ranks of this host are in the init of a communicator, and what those do that others wait for there,
 * where the judge of the job asks. docs/messages.md, "Init".
 */
#ifndef ANALYSIS_NODE_INIT_REPORTS_H
#define ANALYSIS_NODE_INIT_REPORTS_H

#include "analysis/node/outbox.h"

struct analysis;

/* Takes a RW_MESSAGE_ASK with RW_ASK_ABSENCE. */
void init_reports_ask(struct analysis *analysis, const struct rw_message *message, uint64_t now_ns);
/* Queues these messages. Call it once a second. */
void init_reports_tick(const struct analysis *analysis, struct outbox *outbox, uint64_t now_ns);

#endif
