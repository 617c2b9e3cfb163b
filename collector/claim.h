/* SPDX-License-Identifier: MIT */
/* The job that a collector serves on this node: its name, where its boxes and its socket are, and the lock that makes
 * it the only one. */
#ifndef COLLECTOR_CLAIM_H
#define COLLECTOR_CLAIM_H

#include <stdbool.h>

#include "blackbox/place.h"
#include "collector/boxes/live_boxes.h"
#include "identity/identity.h"
#include "protocol/address.h"
#include "protocol/lock.h"

struct claim {
	struct identity identity;
	/* under which lock and socket are: the job's name, where this host was given none */
	char key[BOX_JOB_COMPONENT];
	char directory[BOX_PLACE_PATH]; /* that was named, before all others; "": none was */
	char places[LIVE_BOXES_PLACES][BOX_PLACE_PATH];
	int place_count;
	struct address address;
	int address_err; /* 0: address can be used */
	struct lock lock;
};

/* Reads the environment as the plugin does. directory: look there too; NULL: RANKWATCH_DIR. job: NULL: the
 * environment's. host: what this host is called; NULL: the environment's. Several names on one machine are several
 * hosts, each with its own lock and socket. */
void claim_find(struct claim *claim, const char *directory, const char *job, const char *host);
/* 0 or -errno, which it has said on stderr; quiet: but for -EBUSY, another collector serves the job. Undone by
 * lock_release() of its lock. */
int claim_take(struct claim *claim, bool quiet);

#endif
