/* SPDX-License-Identifier: MIT */
/*
 * Numbers in text that people and frameworks write, as in 0.25 or 100. Not strtod(): in many of the locales that a
 * program may set 0.25 is no number. Nor strtol(), which takes blanks and signs, and reports what is too large through
 * errno. libc only; no state.
 */
#ifndef IDENTITY_DECIMAL_H
#define IDENTITY_DECIMAL_H

#include <stdint.h>

/* Reads digits from the beginning of text. Returns what follows them; NULL when there is none, or when *value would be
 * more than largest. */
const char *decimal_whole(const char *text, uint64_t largest, uint64_t *value);
/* Reads digits, and after a point more digits, from the beginning of text. *value = the number times 10^places, further
 * places cut off. Returns what follows the number; NULL when no digit begins it, or when *value would be more than
 * largest. */
const char *decimal_read(const char *text, unsigned int places, uint64_t largest, uint64_t *value);

#endif
