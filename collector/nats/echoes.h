/* SPDX-License-Identifier: MIT */
/*
 * A bad value goes from host to host, and each host reports what it saw of it. The host that saw who brought the value
 * reports that. A host that did not see all ranks, or not all that came before, reports an inconclusive finding: an
 * echo. An echo waits a little, and is left out if another host saw more of the value. Echoes of hosts that saw equally
 * much of it are handed out together, for merged.h to make one finding of them. docs/messages.md, "Values". Pure.
 */
#ifndef COLLECTOR_NATS_ECHOES_H
#define COLLECTOR_NATS_ECHOES_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "collector/nats/subject.h"
#include "collector/nats/value_parts.h"

#define ECHOES_HOLD_NS  UINT64_C(5000000000)  /* for the node that saw the birth */
#define ECHOES_REACH_NS                                                                                                \
	UINT64_C(60000000000) /* what is said of receivers so long before or after a birth, is of that one */

#define ECHOES_NEAR_NS  UINT64_C(10000000000) /* two of one value come so close to each other: without steps */

enum {
	ECHOES_BIRTHS = 64, /* the newest, of those that know most */
	ECHOES_HEARD = 256, /* echoes that are open; what comes beyond is told */
};

/* Whether ranks of this host are known to be in the communicator with NCCL's number `comm`. */
typedef bool echoes_is_member(void *argument, const char *host, uint64_t comm);

struct echo_birth {
	char host[SUBJECT_NAME], kind[16], place[VALUE_PARTS_PLACE];
	enum value_sight sight;
	uint64_t heard_ns;
	json_int_t step; /* 0: not known */
};

struct echo {
	char host[SUBJECT_NAME], id[24], kind[16], place[VALUE_PARTS_PLACE];
	uint64_t heard_ns, comm;
	json_int_t step; /* 0: not known */
	enum value_sight sight;
	bool told, left_out;
	json_t *finding; /* while it waits */
};

struct echoes {
	echoes_is_member *is_member; /* set by the owner; NULL: of no host it is known */
	void *argument;
	struct echo_birth births[ECHOES_BIRTHS];
	struct echo heard[ECHOES_HEARD];
	uint32_t count;
};

/* What a node says. False: it is not to be told now; later, echoes_due() may hand it out. */
bool echoes_pass(struct echoes *echoes, const char *host, const json_t *finding, uint64_t now_ns);
/* One that has waited in vain: a reference, with its host. NULL: none. */
json_t *echoes_due(struct echoes *echoes, char host[SUBJECT_NAME], uint64_t now_ns);
/* One that was told and has turned out to be an echo: its end is to be told. False: none. */
bool echoes_refuted(struct echoes *echoes, char host[SUBJECT_NAME], char id[24]);
void echoes_free(struct echoes *echoes);

#endif
