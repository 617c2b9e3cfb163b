/* SPDX-License-Identifier: MIT */
/* Which of two findings is reported first: the first of all is the verdict. */
#ifndef FINDING_WEIGHT_H
#define FINDING_WEIGHT_H

#include <stdbool.h>

#include <jansson.h>

/* < 0: left comes first, > 0: right does. The more severe one, then the more certain one, then the earlier one. */
int weight_compare(const json_t *left, const json_t *right);
bool weight_is_more_severe(const json_t *left, const json_t *right);
/* Puts a finding, which the list then owns, behind those that come first or were put there before it. */
void weight_insert(json_t *list, json_t *finding);

#endif
