/* SPDX-License-Identifier: MIT */
/* What stands under a key of a finding that somebody else wrote: of the right type, or absent. */
#ifndef FINDING_VALUE_H
#define FINDING_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* NULL: no text. */
const char *value_text(const json_t *object, const char *key);
double value_number(const json_t *object, const char *key, double absent);
/* "2026-11-20T19:03:07.900Z" as ns since 1970; 0: no such time. */
uint64_t value_time(const json_t *object, const char *key);
bool value_is(const json_t *object, const char *key, const char *expected);
/* An array of ranks, ascending, as rank_list_text() writes it; "?" on lack of memory. Returns text. */
char *value_ranks(const json_t *ranks, char *text, size_t size);

#endif
