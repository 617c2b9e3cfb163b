/* SPDX-License-Identifier: MIT */
/*
 * Rows say how each rank spent its time, up to the end of operations that all members of a communicator share
 * (analysis/node/row_ends.h). docs/messages.md, "Rows of time".
 */
#ifndef ANALYSIS_NODE_ROW_REPORTS_H
#define ANALYSIS_NODE_ROW_REPORTS_H

#include "analysis/match/account.h"
#include "analysis/node/outbox.h"
#include "analysis/node/roster.h"

/* Takes an operation that was accounted for: adds its time to the totals, and queues a message where a row ends with
 * it.
 */
void row_reports_note(struct roster *roster, const struct job *job, const struct account_passage *passage,
		      struct outbox *outbox);

#endif
