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

void claim_find(struct claim *claim, const char *directory, const char *job)
{
	if (!directory)
		directory = getenv("RANKWATCH_DIR");
	snprintf(claim->directory, sizeof(claim->directory), "%s", directory ? directory : "");
	identity_read(&claim->identity, from_environment, NULL, 0, NULL, 0);
	if (job)
		snprintf(claim->identity.job, sizeof(claim->identity.job), "%s", job);
	claim->place_count =
	    box_places(directory, getenv("XDG_RUNTIME_DIR"), geteuid(), claim->identity.job, claim->places);
	claim->address_err = address_find(&claim->address, getenv("XDG_RUNTIME_DIR"), geteuid(), claim->identity.job);
}

/* The lock lies under the job's name always: a directory named by hand may serve several jobs. */
int claim_take(struct claim *claim, bool quiet)
{
	const char *job = claim->identity.job;
	char places[BOX_PLACES][BOX_PLACE_PATH];
	int count = box_places(NULL, getenv("XDG_RUNTIME_DIR"), geteuid(), job, places);
	pid_t holder;
	int err =
	    lock_take(&claim->lock, places, count, claim->address_err ? NULL : claim->address.directory, job, &holder);

	if (err == -EBUSY && !quiet)
		foreign_line(stderr, "rankwatch collect: process %d collects job %s already", (int)holder, job);
	else if (err && err != -EBUSY)
		foreign_line(stderr, "rankwatch collect: %s: %s: no place for the lock of job %s", claim->lock.path,
			     strerror(-err), job);
	return err;
}
