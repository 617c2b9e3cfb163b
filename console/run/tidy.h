/* SPDX-License-Identifier: MIT */
/*
 * The black boxes at the end of `rankwatch run`: those of a run that ended well go, of all others the newest stay
 * (console/boxes/kept_boxes.h). Done in a process of its own with a deadline: a directory that does not answer does not
 * keep the job's exit status back.
 */
#ifndef CONSOLE_RUN_TIDY_H
#define CONSOLE_RUN_TIDY_H

#include <stdbool.h>
#include <stdint.h>

#include "console/boxes/kept_boxes.h"

struct tidy_request {
	const char *job;
	uint64_t began_ns; /* CLOCK_MONOTONIC, before the job */
	uint64_t limit;    /* KEPT_BOXES_ALL: nothing is removed, by later runs neither */
	bool ended_well;   /* exit status 0, watched to its end, and nothing was found */
};

struct tidied {
	struct kept_boxes own;    /* removed of this run */
	struct kept_boxes others; /* and of ended runs, this one included when it did not end well */
};

/* A launcher whose job failed says so before it leaves the collector: what others of the same job make of it is theirs.
 */
void tidy_mark_failed(const char *job);
/* 0; -ETIMEDOUT: it goes on without us; or another -errno. */
int tidy_boxes(const struct tidy_request *request, struct tidied *tidied);

#endif
