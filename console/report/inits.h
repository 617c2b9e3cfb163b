/* SPDX-License-Identifier: MIT */
/* Communicators of a dead job that were still being made: who was in ncclCommInitRank, and who never came there. */
#ifndef CONSOLE_REPORT_INITS_H
#define CONSOLE_REPORT_INITS_H

#include <stdbool.h>
#include <stdio.h>

#include "console/replay/replay.h"

/* Two or three lines for each; returns how many there are. Missing ranks have names only where their world rank is
 * sure. */
size_t inits_print(FILE *out, const struct replay *replay);
/* Whether anybody waited there when the job ended. */
bool inits_any(const struct replay *replay);

#endif
