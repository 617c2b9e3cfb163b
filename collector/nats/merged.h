/* SPDX-License-Identifier: MIT */
/*
 * Findings of many nodes as one list. A finding's id is made of what it says (docs/findings.md), so those who find the same
 * use the same one: it is told once, by the voice that knows most (its cause, then the rank's own host), with what the network
 * ports of all these hosts showed (port_pieces.h), and closed when none has it open any more. Pure.
 */
#ifndef COLLECTOR_NATS_MERGED_H
#define COLLECTOR_NATS_MERGED_H

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
	char id[24];
	json_t *finding;
};

struct merged_told {
	char id[24];
	char host[SUBJECT_NAME]; /* who tells it */
	json_t *ports; /* as port_pieces_note() takes it; stays while the finding is open, also of hosts that closed it */
	json_int_t revision;
};

struct merged {
	merged_emit *emit;
	void *argument;
	struct merged_voice *voices; /* what is open, per host and id */
	size_t voice_count, voice_room;
	struct merged_told *told; /* what is open, per id */
	size_t told_count, told_room;
};

/* host: "" for what is found here and not on a node. 0; -EPROTO, -EMFILE (too many) or -ENOMEM with what is wrong, in words that
 * hold nothing foreign. */
int merged_take(struct merged *merged, const char *host, const json_t *finding, char why[FINDING_HEAD_WHY]);
/* This host's finding is not its own any more: another's says the same, and better. */
void merged_end(struct merged *merged, const char *host, const char *id);
/* Of this host's nothing else is open than these ids. */
void merged_keep_only(struct merged *merged, const char *host, const json_t *ids);
void merged_free(struct merged *merged);

#endif
