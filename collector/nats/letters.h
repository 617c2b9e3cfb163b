/* SPDX-License-Identifier: MIT */
/* What is to be published, or has come and was not read yet: a queue that never holds more than it may. What is too
 * much pushes out the oldest: of a node's states the newest counts. Not for several threads at once. */
#ifndef COLLECTOR_NATS_LETTERS_H
#define COLLECTOR_NATS_LETTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct letter {
	struct letter *next;
	char *subject; /* in the same block, as is */
	char *bytes;   /* … with a '\0' behind them */
	size_t length;
};

struct letters {
	struct letter *first, *last;
	size_t count, size; /* size: bytes of all, with what a letter itself takes */
	size_t limit;       /* of that size; set by the owner */
	uint64_t dropped;
};

/* Copies. Drops older letters, or this one where it is larger than the limit or there is no memory. */
void letters_put(struct letters *letters, const char *subject, const void *bytes, size_t length);
/* The oldest, to be freed with free(); NULL: none. */
struct letter *letters_take(struct letters *letters);
void letters_clear(struct letters *letters);

#endif
