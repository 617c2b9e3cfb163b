/* SPDX-License-Identifier: MIT */
/* The clocks of a run's hosts: what brings the times of every box to the CLOCK_MONOTONIC of the first box's host.
 * Nothing, for boxes that are on its clock already (console/replay/common_clock.h); for others it is as good as the
 * hosts' CLOCK_REALTIME agree. One thread. */
#ifndef CONSOLE_REPLAY_HOST_CLOCKS_H
#define CONSOLE_REPLAY_HOST_CLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "console/replay/replayed.h"

/* A host's clocks, by its boot: its boxes share them, whatever their own anchors say. The offset is that of the clock
 * which its times are on. */
struct host_clock {
	char boot_id[sizeof(((struct rw_box_header *)NULL)->boot_id)];
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
};

/* Zeroed = empty. */
struct host_clocks {
	struct host_clock *hosts; /* that of the replay's first box first */
	size_t count;
};

/* 0 or -ENOMEM; free in both cases. */
int host_clocks_gather(struct host_clocks *clocks, const struct replay *replay);
/* To be added to a time of this box; 0 for a host that was not gathered. */
int64_t host_clocks_offset(const struct host_clocks *clocks, const struct rw_box_header *header);
/* The offset, or 0 where it is damage. Differences of two such have room. */
int64_t host_clocks_sane(int64_t offset_ns);
void host_clocks_free(struct host_clocks *clocks);

#endif
