/* SPDX-License-Identifier: MIT */
/* Which known name did a mistyped one mean? */
#ifndef CONSOLE_CLI_NEAREST_H
#define CONSOLE_CLI_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* Letters to insert, delete, replace or swap with their neighbour to turn one into the other. Names longer than 32
 * are compared by their first 32 letters. */
size_t nearest_distance(const char *typed, const char *known);
/* Is this distance a typing mistake in `typed` rather than another word? One letter in three, at least one. */
bool nearest_is_near(const char *typed, size_t distance);

#endif
