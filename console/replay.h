/* SPDX-License-Identifier: MIT */
/* One run, seen again from its black boxes, and the Xids of the kernel log where they were recorded here: the same analysis
 * as live. One thread. */
#ifndef CONSOLE_REPLAY_H
#define CONSOLE_REPLAY_H

#include <jansson.h>

#include "analysis/analysis.h"
#include "console/boxes.h"
#include "console/kernel_xids.h"
#include "feed/feed.h"

struct replay_process {
	const char *path; /* of the box; the entry's */
	int32_t rank;     /* -1 not known */
	enum box_life life;
	struct feed *feed; /* owns the reader */
};

struct replay {
	struct analysis *analysis;
	struct replay_process *processes;
	size_t count;
	struct kernel_xids xids;
	json_t *findings; /* id → the last revision, in the order in which they were opened */
	uint64_t last_ns; /* the newest time in any box */
	int64_t realtime_offset_ns;
};

/* What else is wanted of the analysis while it sees the run. */
struct replay_watch {
	analysis_time_visit *time;
	void *argument;
};

/* Replays `count` entries of one run. Takes over their readers (the entries' fd becomes -1); the entries must outlive
 * the replay. kernel_log: NULL is /dev/kmsg. watch: NULL nothing; when it is called, the processes are there. 0 or
 * -ENOMEM; close in both cases. */
int replay_open(struct replay *replay, struct box_entry *entries, size_t count, const char *kernel_log,
		const struct replay_watch *watch);
void replay_close(struct replay *replay);

/* NULL when no box of this rank was replayed. */
const struct replay_process *replay_find(const struct replay *replay, int32_t rank);
const struct rw_box_header *replay_header(const struct replay_process *process);

#endif
