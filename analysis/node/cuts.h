/* SPDX-License-Identifier: MIT */
/*
 * Cuts say how each rank spent its time, up to the end of operations that all members of a communicator share. A cut is made after each
 * operation of one function whose number, counted from 1, is a multiple of 2^shift. The shift is chosen so that a cut lasts 1 to 4 s.
 *
 * All hosts see the same operations with the same numbers in the same time, so they choose the same function and the same shift. Where one host
 * chooses another shift, the coarser cuts are a subset of the finer ones. docs/messages.md, "Cuts". Rows, which are finer, end where
 * analysis/node/row_ends.h says.
 */
#ifndef ANALYSIS_NODE_CUTS_H
#define ANALYSIS_NODE_CUTS_H

#include "analysis/match/account.h"
#include "analysis/node/outbox.h"
#include "analysis/node/roster.h"

#define CUTS_SHORT_NS 1000000000u
#define CUTS_LONG_NS  4000000000u /* also where no cut comes: the shift is fitted after this time */
/* After this time without an operation, the function used for cuts counts as no longer called. */
#define CUTS_STALE_NS 8000000000u

enum { CUTS_SHIFT_MAX = 40 };

/* Takes an operation that was accounted for: adds its time to the totals, and queues a message where a cut is made
 * after it, or a row ends. */
void cuts_note(struct roster *roster, const struct job *job, const struct account_passage *passage, struct outbox *outbox);

#endif
