/* SPDX-License-Identifier: MIT */
/*
 * The latest announced calls of a communicator, for a reader that has to find the first call in which members on
 * different hosts differ. A call's place is its number among all announced calls of a member. Members on one host make
 * the same calls, so they share a history; one that makes another call has a copy of its own from there on.
 */
#ifndef ANALYSIS_KNOWN_CALL_HISTORY_H
#define ANALYSIS_KNOWN_CALL_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

enum { CALL_HISTORY_MAX = 16384 /* calls kept; a power of two */ };

struct past_call {
	uint64_t count;
	int32_t root;
	uint8_t function, dtype;
};

struct call_history {
	struct past_call *calls; /* by place, modulo room */
	uint32_t room;
	uint64_t begin, end;     /* places begin to end - 1 are kept */
	bool broken;             /* calls were not seen, or there was no memory: nothing is kept any more */
};

/* Adds a member's call at this place, where it is the first that comes there. False: another member has made another
 * call there. */
bool call_history_add(struct call_history *history, uint64_t place, const struct past_call *call);
/* Makes `copy` a history of the calls before this place. call_history_free() frees it. */
void call_history_copy(const struct call_history *history, uint64_t place, struct call_history *copy);
/* The call at this place; NULL: it is not kept. Valid until the next call_history_add(). */
const struct past_call *call_history_at(const struct call_history *history, uint64_t place);
void call_history_free(struct call_history *history);

#endif
