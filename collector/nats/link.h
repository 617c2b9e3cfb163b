/* SPDX-License-Identifier: MIT */
/*
 * A connection to a NATS server, on a thread of its own: nobody who sends or receives ever waits for a server, a name
 * server or a file. While there is no connection it is tried again and again, with growing pauses; what is to be sent
 * waits in a bounded queue, of which the newest is kept. Delivery is at most once: what a server took and did not hand
 * on is gone. All functions but link_is_possible() belong to the one thread that opened the link.
 *
 * The address comes from the caller. As the `nats` command does, the thread takes from the environment what else a
 * server may ask for (github.com/nats-io/natscli): NATS_CREDS, a file; NATS_USER and NATS_PASSWORD; NATS_CA; NATS_CERT
 * and NATS_KEY.
 */
#ifndef COLLECTOR_NATS_LINK_H
#define COLLECTOR_NATS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/nats/letters.h"

enum { LINK_LINE = 512, LINK_OUTBOX = 4 << 20 /* bytes that wait to be sent */, LINK_INBOX = 64 << 20 };

struct link;

struct link_request {
	const char *url;       /* checked by server_url_check() */
	const char *name;      /* by which the server's operator knows us */
	const char *subscribe; /* subject, with wildcards; NULL: we only send */
	const char *kept;      /* of which a server with JetStream keeps the newest: they come first, once; NULL:
				* none */
	size_t inbox;          /* bytes that may wait to be taken; 0: LINK_INBOX */
};

struct link_state {
	bool connected;
	bool keeps; /* the server keeps what link_request.kept says, for those who come late */
	uint64_t connections; /* so far */
	uint64_t sent, sent_bytes, received, received_bytes;
	uint64_t lost_sending; /* did not fit, or the server would not take them */
	uint64_t lost_receiving;
	size_t waiting; /* to be sent */
};

/* Was this program built with NATS? */
bool link_is_possible(void);
/* Copies the request. NULL: no memory or no thread, or not possible. */
struct link *link_open(const struct link_request *request);
void link_send(struct link *link, const char *subject, const void *bytes, size_t length);
/* The oldest letter that has come, to be freed with free(); NULL: none. */
struct letter *link_receive(struct link *link);
/* A sentence that people should read, once each: which server does not answer, and why; that it does again. Not
 * escaped. is_trouble: it is to be said also to those who want no reports. False: none. */
bool link_news(struct link *link, char line[LINK_LINE], bool *is_trouble);
void link_see(struct link *link, struct link_state *state);
/* Asks the server to answer: true when it does within the time. For those who may wait: doctor. */
bool link_await(struct link *link, unsigned timeout_ms);
/* Sends what waits, within the time, and frees. False: the thread is stuck, and uses its memory on: leave with
 * _exit(2). Accepts NULL. */
bool link_close(struct link *link, unsigned timeout_ms);

#endif
