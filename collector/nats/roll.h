/* SPDX-License-Identifier: MIT */
/* Names that are to be said in one line, such as those of hosts that were heard in the same second: the first few, and
 * how many. */
#ifndef COLLECTOR_NATS_ROLL_H
#define COLLECTOR_NATS_ROLL_H

#include <stddef.h>

enum { ROLL_NAMES = 8, ROLL_TEXT = 1024 };

struct roll {
	size_t count;
	char text[ROLL_TEXT]; /* "host-0, host-1 and 14 more"; not escaped */
	size_t used;
};

void roll_add(struct roll *roll, const char *name);
/* The text, or NULL when there is nothing to say; the roll is then empty, and the text valid until the next
 * roll_add(). */
const char *roll_take(struct roll *roll);

#endif
