/* SPDX-License-Identifier: MIT */
/* Waiting that goes round, as JSON and for people: analysis/view/turns.h. */
#ifndef PROTOCOL_TURNS_TEXT_H
#define PROTOCOL_TURNS_TEXT_H

#include <stdio.h>

#include <jansson.h>

#include "analysis/analysis.h"

/* {"times":…, "of_steps":…, "share":…, "at_least":…, "each_ms":…, "ranks":[{"rank":…, "times":…}], "rank_count":…,
 * "by":…, "class":…, "seen":…, "caused":…, "collecting":…, "confidence":…, "function":…, "file":…, "line":…, "text":…,
 * "because":…, "advice":…}; a new reference, null where it does not go round. */
json_t *turns_json(const struct analysis_turns *turns);
/* Three lines at most, none where `turns` is null; as account_print(). */
void turns_print(FILE *out, const char *before, int label, const json_t *turns);

#endif
