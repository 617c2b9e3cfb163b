/* SPDX-License-Identifier: MIT */
/*
 * The judges of one job: collectors that hear all of its nodes. One is active; the others hear the same, tell nothing,
 * and take over when it is not heard any more. Each says every second that it lives. Active is the one that began
 * first; of two that began in one millisecond, the one whose name comes first. Pure: told the time. One thread.
 */
#ifndef COLLECTOR_NATS_JUDGES_H
#define COLLECTOR_NATS_JUDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "collector/nats/subject.h"

enum {
	JUDGES_MOST = 8,         /* others; more are not noticed */
	JUDGES_EVERY_MS = 1000,  /* between two signs of life */
	JUDGES_LISTEN_MS = 2500, /* before one becomes active that has heard of no other yet */
	JUDGES_SILENT_MS = 5000, /* one that is not heard for so long is not active any more */
	JUDGES_OPEN = 256,       /* findings in a sign of life */
	JUDGES_WHY = 96,
};

/* In each judge's name, behind that of its host, and in no host's: who may publish for one host only cannot speak as a
 * judge. */
#define JUDGES_MARK "/"

struct judge {
	char name[SUBJECT_NAME];
	uint64_t started_ms, heard_ns;
	bool left;
	json_t *open; /* ids of what it has told and is open, as of when it was active last */
};

struct judges {
	char name[SUBJECT_NAME]; /* our own */
	uint64_t started_ms;
	uint64_t listening_ns; /* since when we hear without a pause */
	bool active;
	struct judge others[JUDGES_MOST];
	size_t count;
	uint64_t next_life_ns, number;
};

/* We could hear nobody until now: nobody is silent for that. */
void judges_listen(struct judges *judges, uint64_t now_ns);
/* A sign of life, maybe our own. 0; -EPROTO with what is wrong, in words that hold nothing foreign; -ENOMEM. */
int judges_hear(struct judges *judges, const char *name, const json_t *life, uint64_t now_ns, char why[JUDGES_WHY]);
/* Decides anew whether we are the active one. Returns whether that has changed. */
bool judges_tick(struct judges *judges, uint64_t now_ns);
/* Who is to be active before us, and was heard of late; NULL: nobody. */
const struct judge *judges_before(const struct judges *judges, uint64_t now_ns);
/* Whether another one has told that this finding is open: once for each time that it did. */
bool judges_take_told(struct judges *judges, const char *id);
/* Our sign of life, malloc'ed: due at next_life_ns. NULL: no memory. open: ids, stolen. last: we take leave. */
char *judges_life(struct judges *judges, json_t *open, bool last, uint64_t now_ns);
void judges_free(struct judges *judges);

#endif
