/* SPDX-License-Identifier: MIT */
/*
 * Whether the reader of messages could hear at all. Where it was cut off, or did not run, or nobody was heard at the
 * same time, no host is silent: each gets time to be heard again, and what was open stays open meanwhile.
 * docs/messages.md, "A reader that heard nothing". One thread, that of the job half.
 */
#ifndef ANALYSIS_JOB_HEARING_H
#define ANALYSIS_JOB_HEARING_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/job/world.h"

#define HEARING_HOLD_NS 2000000000u /* nobody was heard for so long, while each host that lives sends every second */

/* The reader could hear nobody from `since_ns` until now, whatever was sent. Call it again for as long as that is so.
 */
void hearing_lost(struct world *world, uint64_t since_ns, uint64_t now_ns);
/* A batch has come, and is about to be taken: notices that nobody was heard for as long as makes a host silent. */
void hearing_note(struct world *world, uint64_t now_ns);
/* Whether nobody that lives is heard now: nothing is to be judged, and nothing that is open is over. */
bool hearing_holds(const struct world *world, uint64_t now_ns);
/* Whether some host was not heard again since the reader hears, and may still be: what is open there is not over. */
bool hearing_awaits(const struct world *world, uint64_t now_ns);

#endif
