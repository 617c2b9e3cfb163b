/* SPDX-License-Identifier: MIT */
/* Whether what was seen live is about this run, and about which finding of its boxes. Pure. */
#ifndef CONSOLE_REPLAY_SEEN_LIVE_MATCH_H
#define CONSOLE_REPLAY_SEEN_LIVE_MATCH_H

#include "console/replay/seen_live.h"

/* Does the run have all ranks that the finding names? */
bool seen_live_match_has_ranks(const struct seen_live_run *run, const json_t *live);
/* Is the finding of this run? By its time, and its communicator or its processes. */
bool seen_live_match_is_of(const struct seen_live_run *run, const json_t *live);
/* Have all processes of the run ended? */
bool seen_live_match_is_over(const struct seen_live_run *run);
/* The key of the finding that is the same: of the same kind and ranks, and at the same time. NULL: none. */
const char *seen_live_match_same(json_t *findings, const json_t *live);
/* That of one that accuses other ranks of holding up the same operation. Of two that were only seen live the first one
 * stays: when it is over, others may have to end, too. */
const char *seen_live_match_other(json_t *findings, const json_t *live);
/* That of an earlier time of the same finding, which was seen live only. */
const char *seen_live_match_before(json_t *findings, const json_t *live);
bool seen_live_match_is_surer(const json_t *left, const json_t *right);

#endif
