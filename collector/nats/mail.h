/* SPDX-License-Identifier: MIT */
/*
 * Reads what the nodes of a job publish: findings into one list, signs of life into the hosts that are heard, batches
 * to whoever judges them. What is damaged, foreign or of another version is counted and said once. Pure: told the time.
 */
#ifndef COLLECTOR_NATS_MAIL_H
#define COLLECTOR_NATS_MAIL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/nats/complaints.h"
#include "collector/nats/echoes.h"
#include "collector/nats/hosts.h"
#include "collector/nats/letters.h"
#include "collector/nats/merged.h"
#include "collector/nats/roll.h"

enum {
	MAIL_FINDING_MOST = 256 << 10, /* bytes; larger ones are none of ours */
	MAIL_LIFE_MOST = 64 << 10,
};

/* A batch of messages from a host. 0, or -errno with what is wrong in *why. */
typedef int mail_batch(void *argument, const char *host, const void *bytes, size_t length, uint64_t now_ns,
		       const char **why);

/* A sign of life of a judge. 0, or -errno with what is wrong in *why. */
typedef int mail_judge(void *argument, const char *name, const json_t *life, uint64_t now_ns, const char **why);

/* What a judge has told, of late or before we came. */
typedef void mail_told(void *argument, const char *name, const json_t *finding);

struct mail {
	/* Set by the owner: */
	const char *who;         /* begins each sentence */
	FILE *trouble, *reports; /* what nobody should miss, and hosts that come and go; reports NULL: not said */
	mail_batch *batch;
	mail_judge *judge; /* NULL: they do not matter */
	mail_told *told;   /* likewise */
	void *argument;
	/* */
	struct merged merged; /* its emit is the owner's, too */
	struct echoes echoes;
	struct hosts hosts;
	struct complaints complaints;
	struct roll rolls[HOST_GOES_SILENT + 1];
	unsigned ranks, ranks_said; /* of all hosts, at the last look, and as it was said */
	uint64_t next_say_ns;
	uint64_t batches, batch_bytes;
};

void mail_take(struct mail *mail, const struct letter *letter, uint64_t now_ns);
/* Nothing could come until now: hosts are not silent for that. Call it before what has come is taken. */
void mail_deaf(struct mail *mail, uint64_t now_ns);
/* Notices who is silent, and says what is to be said. Some ten times a second. */
void mail_tick(struct mail *mail, uint64_t now_ns);
void mail_free(struct mail *mail);

#endif
