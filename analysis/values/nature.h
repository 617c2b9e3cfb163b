/* SPDX-License-Identifier: MIT */
/* Numerics or hardware? What the evidence about bad values that ranks made says of it, in one sentence. */
#ifndef ANALYSIS_VALUES_NATURE_H
#define ANALYSIS_VALUES_NATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/values/origin_story.h"

#define NATURE_PEERS                                                                                                   \
	2 /* other ranks at the same place that were clean, at least, before one rank alone means anything */
#define NATURE_TIMES 3 /* so often the same rank alone is no chance */

/* "one rank of 8, 6 steps after its largest value left those of the others: hardware more likely than numerics". False:
 * nothing is known that would support such a sentence, or the GPU itself has said it. */
bool nature_tell(const struct analysis *analysis, const struct origin_story *story, char *text, size_t room);

#endif
