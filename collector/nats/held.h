/* SPDX-License-Identifier: MIT */
/*
 * Findings that a judge which is not the active one does not tell: the latest state of each is kept, and told when the
 * judge becomes active. What another judge has told before is not opened again; what is over, if we know it, is told
 * as that. Pure. One thread.
 */
#ifndef COLLECTOR_NATS_HELD_H
#define COLLECTOR_NATS_HELD_H

#include <stdbool.h>

#include <jansson.h>

/* known: another judge has told this before, or that it is open. */
typedef void held_emit(void *argument, const json_t *finding, bool known);
/* Whether another judge has told that this finding is open. */
typedef bool held_is_told(void *argument, const char *id);

enum { HELD_PAST = 512 /* findings that others have told, the newest */ };

struct held {
	held_emit *emit;
	held_is_told *is_told;
	void *argument;
	bool holds;
	json_t *waiting; /* findings by id, of what has changed while it held; NULL: none */
	json_t *told;    /* ids of what was told and is open; NULL: none */
	json_t *past;    /* findings by id, as another judge has told them last; NULL: none */
};

/* A change of a finding: told now, or kept. */
void held_put(struct held *held, const json_t *finding);
/* Another judge has told this, of late or before we came. */
void held_note(struct held *held, const json_t *finding);
/* From now on changes are kept, or they are told again, at first what was kept. */
void held_set(struct held *held, bool holds);
/* Ids of what was told and is open, at most so many: a new array. NULL on lack of memory. */
json_t *held_open(const struct held *held, size_t most);
void held_free(struct held *held);

#endif
