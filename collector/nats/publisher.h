/* SPDX-License-Identifier: MIT */
/*
 * What a node's collector publishes of its job, so that one reader hears of all nodes: findings as they change, and
 * again every REPEAT seconds while they are open, so that a reader may come late; batches of messages; and every two
 * seconds that the collector lives, with the ids of what is open. What is read from the net are asks why a rank of this
 * host is late, and nothing else. Never waits. One thread.
 */
#ifndef COLLECTOR_NATS_PUBLISHER_H
#define COLLECTOR_NATS_PUBLISHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rankwatch/finding.h>

#include "finding/board.h"
#include "collector/nats/letters.h"

enum {
	PUBLISHER_LIFE_MS = 2000,    /* between two signs of life */
	PUBLISHER_REPEAT_MS = 10000, /* between two times that an open finding is said */
	PUBLISHER_IDS = 64,          /* of open findings in a sign of life: with more it lists none */
};

struct publisher;

struct publisher_request {
	const char *url; /* checked; not kept */
	const char *job, *host;
	const char *who; /* begins each sentence on stderr; must outlive the publisher */
	bool quiet;      /* only trouble is said there */
};

struct publisher_life {
	unsigned ranks;    /* that are seen here */
	const char *level; /* how deep */
};

/* NULL: no memory or no thread, or built without NATS; link_is_possible() tells. */
struct publisher *publisher_open(const struct publisher_request *request);
/* A change of a finding. line: as JSON. All accept NULL for the publisher. */
void publisher_finding(struct publisher *publisher, const char *line);
/* A batch of messages, at most 1 MiB. */
void publisher_batch(struct publisher *publisher, const void *bytes, size_t length);
/* A batch that asks something, to be freed with free(); NULL: none has come. */
struct letter *publisher_asked(struct publisher *publisher);
/* Says on stderr what became of the server, and publishes what is due. Call some ten times a second. */
void publisher_tick(struct publisher *publisher, const struct board *board, const struct publisher_life *life,
		    uint64_t now_ns);
/* Says that this collector ends, sends what waits within the time, frees. False: leave the process with _exit(2). */
bool publisher_close(struct publisher *publisher, unsigned timeout_ms);

/* As publisher_open() publishes it, for tests: malloc'ed. number: counts signs of life from 1. */
char *publisher_life_line(const struct board *board, const struct publisher_life *life, const char *host,
			  uint64_t started_ms, uint64_t number, uint64_t lost, bool last);

#endif
