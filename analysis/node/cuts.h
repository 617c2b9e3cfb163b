/* SPDX-License-Identifier: MIT */
/*
 * Cuts: what each rank's time went to, up to the end of operations that all members of a communicator share. A cut lies behind
 * operations of one function whose number, counted from 1, is a multiple of 2^shift; the shift is such that a cut lasts 1 to 4 s. All
 * hosts see the same operations in the same time, and so choose alike; where one does not, coarser cuts are part of the
 * finer ones. docs/messages.md, "Cuts".
 */
#ifndef ANALYSIS_NODE_CUTS_H
#define ANALYSIS_NODE_CUTS_H

#include "analysis/account.h"
#include "analysis/node/outbox.h"
#include "analysis/node/roster.h"

#define CUTS_SHORT_NS 1000000000u
#define CUTS_LONG_NS  4000000000u
/* The function of which cuts were made is called no more. */
#define CUTS_STALE_NS 8000000000u

enum { CUTS_SHIFT_MAX = 40 };

/* An operation that was accounted for: adds it up, and says so where it is cut behind. */
void cuts_note(struct roster *roster, const struct job *job, const struct account_passage *passage, struct outbox *outbox);

#endif
