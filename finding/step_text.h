/* SPDX-License-Identifier: MIT */
/* How many steps a run has had, and how long they took, for the line that sums it up. */
#ifndef FINDING_STEP_TEXT_H
#define FINDING_STEP_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* ", 40 steps of 2.05 s", or ", 40 steps, of 0.72 s at first and 1.90 s at last" where these differ; nothing where
 * nothing is known. steps 0, ms < 0: not known. */
void step_text_print(FILE *out, uint64_t steps, double first_ms, double last_ms);

#endif
