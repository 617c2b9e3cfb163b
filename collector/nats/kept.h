/* SPDX-License-Identifier: MIT */
/*
 * What a server with JetStream keeps for those who come late: letters of some subjects, the newest of the last minutes,
 * in its memory. A server without JetStream, or one that does not permit it, keeps nothing, and nobody waits for it.
 */
#ifndef COLLECTOR_NATS_KEPT_H
#define COLLECTOR_NATS_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include <nats/nats.h>

enum {
	KEPT_BYTES = 64 << 20, /* by the server, of all jobs together */
	KEPT_MOST = 4096,      /* letters that are read */
};
#define KEPT_AGE_NS INT64_C(900000000000)
/* The stream, and its subjects: what judges of any job have told. It is made by whoever comes first, and stays. */
#define KEPT_STREAM  "rankwatch-told"
#define KEPT_SUBJECT "rankwatch.v1.*.told.*"

/* Takes one, and frees it. */
typedef void kept_take(void *argument, natsMsg *message);

/* From now on the server keeps them. Those of this subject that it has are taken, the oldest first; take NULL: none
 * are. False: it keeps none. */
bool kept_read(natsConnection *connection, const char *subject, kept_take *take, void *argument);

#endif
