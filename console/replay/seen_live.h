/* SPDX-License-Identifier: MIT */
/*
 * What a run's collector saw while the job ran, from the files of evidence beside its black boxes, put to the findings
 * that the boxes alone show: a finding takes the cause that was seen live where that says more, and what the boxes do
 * not show any more is added. Findings of other runs are left out; what a file says wrongly of this run costs a line on
 * stderr. One thread.
 */
#ifndef CONSOLE_REPLAY_SEEN_LIVE_H
#define CONSOLE_REPLAY_SEEN_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "console/replay/replayed.h"
#include "finding/kept_findings.h"

/* A process that left a black box; times are of CLOCK_REALTIME. */
struct seen_live_process {
	int32_t rank;
	uint32_t pid;
	char host[64];
	uint64_t begin_ns, end_ns;
	bool ended;
};

struct seen_live_run {
	struct seen_live_process *processes;
	size_t count;
	int32_t ranks;         /* how many the job has; 0 not known */
	json_t *communicators; /* an object with their ids as keys, as findings have them */
};

/* Puts findings that were kept to `findings`, of a struct replay. Returns how many are of no right form, or name ranks
 * that the run does not have. */
unsigned seen_live_merge(json_t *findings, const struct kept_findings *kept, const struct seen_live_run *run);
/* The same with all evidence beside the boxes of a replay whose findings are complete. */
void seen_live_add(struct replay *replay);

/* Does a finding of the replay say more than its boxes? */
bool seen_live_any(const struct replay *replay);
/* Where the time went, as analysis_tell_account() reported it of a machine of the replay: of ranks about which
 * something was seen live the cause is that finding's, as it is that of the boxes' own findings otherwise. */
void seen_live_correct(const struct replay *replay, struct analysis_account *account);

#endif
