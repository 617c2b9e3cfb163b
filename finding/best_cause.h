/* SPDX-License-Identifier: MIT */
/* Of two states of one finding: which says more of its cause. What was seen once stays true when later less is seen. */
#ifndef FINDING_BEST_CAUSE_H
#define FINDING_BEST_CAUSE_H

#include <stdbool.h>

#include <jansson.h>

/* Does `left` say more of the cause than `right`? That there is one, seen at which level, how sure it is, and a
 * function of Python, in this order. False where they say as much. */
bool best_cause_is_better(const json_t *left, const json_t *right);
/* Gives the finding the cause of `from`, and with it what rests on the cause: level, confidence, evidence, what was
 * missing or lost, the advice; of a rank that is gone also the text. On lack of memory less than that. */
void best_cause_take(json_t *finding, const json_t *from);

#endif
