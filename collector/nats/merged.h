/* SPDX-License-Identifier: MIT */
/*
 * Findings of many nodes as one list. A finding's id is made of what it says (docs/findings.md), so those who find the
 * same use the same one: it is told once, by the voice that knows most (its cause, then the rank's own host), with what
 * the network ports of all these hosts showed (port_pieces.h), and closed when none has it open any more. Hosts that
 * see a part each get one id (partial.h); what they saw of a bad value is put together (value_parts.h). Pure.
 */
#ifndef COLLECTOR_NATS_MERGED_H
#define COLLECTOR_NATS_MERGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "collector/nats/finding_head.h"
#include "collector/nats/subject.h"

enum { MERGED_MOST = 4096 /* findings that are open at a time, of each host one */ };

/* A change to be told; the JSON is the list's. state is open the first time, and revision counts what was told. */
typedef void merged_emit(void *argument, const json_t *finding);

struct merged_voice {
	char host[SUBJECT_NAME];
	char own[24];    /* the host's id of it */
	char id[24];     /* the id under which it is told */
	bool is_over;    /* for this host; its part stays while it is open for another one */
	json_t *finding; /* as partial_finding() makes it */
};

struct merged_told {
	char id[24];
	char host[SUBJECT_NAME]; /* who tells it */
	json_t *ports; /* as port_pieces_note() takes it; stays while the finding is open, also of hosts that closed
			* it */
	json_int_t revision;
	bool is_due;       /* parts of several hosts have changed, and merged_tick() will tell it … */
	uint64_t spoke_ns; /* … a second after it was told last */
};

struct merged {
	merged_emit *emit;
	void *argument;
	struct merged_voice *voices; /* what is open, per host and id */
	size_t voice_count, voice_room;
	struct merged_told *told; /* what is open, per id */
	size_t told_count, told_room;
};

/* host: "" for what is found here and not on a node. 0; -EPROTO, -EMFILE (too many) or -ENOMEM with what is wrong, in
 * words that hold nothing foreign. */
int merged_take(struct merged *merged, const char *host, const json_t *finding, char why[FINDING_HEAD_WHY]);
/* Tells what is put together of several hosts' parts, at most once a second each: hosts report them one after the
 * other. Call it some ten times a second. */
void merged_tick(struct merged *merged, uint64_t now_ns);
/* This host's finding is not its own any more: another's says the same, and better. id: the host's. */
void merged_end(struct merged *merged, const char *host, const char *id);
/* Of this host's nothing else is open than these ids of its own. */
void merged_keep_only(struct merged *merged, const char *host, const json_t *ids);
void merged_free(struct merged *merged);

#endif
