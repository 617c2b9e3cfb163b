/* SPDX-License-Identifier: MIT */
/* Where the ranks' time went: docs/summaries.md, "Where the time went". */
#ifndef PROTOCOL_ACCOUNT_TEXT_H
#define PROTOCOL_ACCOUNT_TEXT_H

#include <stdio.h>

#include <jansson.h>

#include "analysis/analysis.h"

/* A new object; null where nothing is known; NULL on lack of memory. */
json_t *account_json(const struct analysis_account *account);
/* Lines for people, `before` each of them with its label in as many columns as `label`; none where nobody waited. */
void account_print(FILE *out, const char *before, int label, const json_t *account);

#endif
