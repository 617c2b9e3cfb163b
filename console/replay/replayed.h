/* SPDX-License-Identifier: MIT */
/* What a replay (console/replay/replay.h) has made of a run's black boxes. */
#ifndef CONSOLE_REPLAY_REPLAYED_H
#define CONSOLE_REPLAY_REPLAYED_H

#include <jansson.h>

#include "analysis/analysis.h"
#include "console/boxes/boxes.h"
#include "console/replay/kernel_xids.h"
#include "feed/feed.h"

struct replay_process {
	const char *path; /* of the box; the entry's */
	int32_t rank;     /* -1 not known */
	enum box_life life;
	struct feed *feed; /* owns the reader */
};

/* The boxes whose times are on one clock: those of one boot of one machine, or of several that can be compared. */
struct replay_machine {
	struct analysis *analysis;
	size_t first, count; /* of the replay's processes */
	/* CLOCK_REALTIME - CLOCK_MONOTONIC of the host whose clock it is: that of the first process */
	int64_t realtime_offset_ns;
	uint64_t first_ns, last_ns; /* when its first box was made, and the newest time in any; on that clock */
};

struct replay {
	struct replay_machine *machines; /* at least one once it is open */
	size_t machine_count;
	struct replay_process *processes; /* by machine, then by rank */
	size_t count;
	struct kernel_xids xids;
	/* The last revision of each, in the order in which they were opened; of values: of each time they were bad.
	 * Only replay.c knows the keys. With the causes that were seen live, and behind them what was seen live only
	 * (console/replay/seen_live.h). */
	json_t *findings;
	/* On the clock of the first machine, to which the others' times are brought by their wall clocks: for pictures
	 * and times of day only. */
	uint64_t last_ns; /* the newest time in any box */
	int64_t realtime_offset_ns;
};

/* On whose clock its times are. */
const struct replay_machine *replay_machine_of(const struct replay *replay, const struct replay_process *process);
const struct rw_box_header *replay_header(const struct replay_process *process);

#endif
