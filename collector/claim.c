/* SPDX-License-Identifier: MIT */
#include "collector/claim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/foreign_text.h"

static const char *from_environment(void *argument, const char *name)
{
	(void)argument;
	return getenv(name);
}

/* FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/). */
static uint32_t hash(uint32_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	while (*text++);
	return hash;
}

static void choose_key(struct claim *claim, bool host_is_named)
{
	const struct identity *identity = &claim->identity;

	if (host_is_named)
		snprintf(claim->key, sizeof(claim->key), "%.32s.%08x", identity->job,
			 (unsigned)hash(hash(2166136261u, identity->job), identity->host));
	else
		snprintf(claim->key, sizeof(claim->key), "%s", identity->job);
}

void claim_find(struct claim *claim, const char *directory, const char *job, const char *host)
{
	if (!directory)
		directory = getenv("RANKWATCH_DIR");
	snprintf(claim->directory, sizeof(claim->directory), "%s", directory ? directory : "");
	identity_read(&claim->identity, from_environment, NULL, 0, NULL, 0);
	if (job)
		snprintf(claim->identity.job, sizeof(claim->identity.job), "%s", job);
	if (host)
		snprintf(claim->identity.host, sizeof(claim->identity.host), "%s", host);
	choose_key(claim, host);
	claim->place_count =
	    box_places(directory, getenv("XDG_RUNTIME_DIR"), geteuid(), claim->identity.job, claim->places);
	claim->address_err = address_find(&claim->address, getenv("XDG_RUNTIME_DIR"), geteuid(), claim->key);
}

/* The lock lies under the job's name always: a directory named by hand may serve several jobs. */
int claim_take(struct claim *claim, bool quiet)
{
	const char *job = claim->identity.job;
	char places[BOX_PLACES][BOX_PLACE_PATH];
	int count = box_places(NULL, getenv("XDG_RUNTIME_DIR"), geteuid(), claim->key, places);
	pid_t holder;
	int err =
	    lock_take(&claim->lock, places, count, claim->address_err ? NULL : claim->address.directory, claim->key,
		      &holder);

	if (err == -EBUSY && !quiet)
		foreign_line(stderr, "rankwatch collect: process %d collects job %s already", (int)holder, job);
	else if (err && err != -EBUSY)
		foreign_line(stderr, "rankwatch collect: %s: %s: no place for the lock of job %s", claim->lock.path,
			     strerror(-err), job);
	return err;
}
