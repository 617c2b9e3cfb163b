/* SPDX-License-Identifier: MIT */
/* What a client may ask of the collector, one JSON object a line: docs/protocol.md. Keys that are not known are
 * ignored. */
#ifndef PROTOCOL_REQUEST_H
#define PROTOCOL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Raised when an old client would misread a new collector, or the other way round. Keys may be added without. */
#define REQUEST_PROTOCOL 1

enum request_kind {
	REQUEST_UNKNOWN,   /* of a newer client: ignored, or refused where it has an id */
	REQUEST_JOIN,      /* {"join":"run"}: a launcher whose job this collector watches */
	REQUEST_LEAVE,     /* {"leave":"run"}: its job has ended; answered with the summary */
	REQUEST_SUBSCRIBE, /* {"id":1,"subscribe":["ranks",…],"every_ms":500}; []: no more */
	REQUEST_GET_RANK,  /* {"id":2,"get":{"rank":3}} */
	REQUEST_GET_FINDING, /* {"id":3,"get":{"finding":"9f2c1e7a-3"}} */
};

/* What a snapshot can hold. */
enum request_topic {
	REQUEST_RANKS = 1 << 0,
	REQUEST_COMMUNICATORS = 1 << 1,
	REQUEST_GPUS = 1 << 2,
	REQUEST_LOSSES = 1 << 3,
	REQUEST_FINDINGS = 1 << 4,
	REQUEST_CELLS = 1 << 5,
	REQUEST_EXPLANATION = 1 << 6,
	REQUEST_HOSTS = 1 << 7, /* of the collector of all nodes alone */
	REQUEST_TOPICS = 8,
};

enum { REQUEST_LINE = 4096, REQUEST_EVERY_MS = 1000, REQUEST_EVERY_LEAST_MS = 100, REQUEST_EVERY_MOST_MS = 60000 };

struct request {
	enum request_kind kind;
	int64_t id;      /* -1: none was given; no answer is expected */
	unsigned topics; /* enum request_topic; those that this release does not know are left out */
	unsigned every_ms;
	int32_t rank;
	char finding[24];
};

void request_parse(const char *line, size_t length, struct request *request);
/* Of bit number `topic`; "ranks" … */
const char *request_topic_name(unsigned topic);

#endif
