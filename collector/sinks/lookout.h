/* SPDX-License-Identifier: MIT */
/* Reports how deep the job's ranks are seen on this host when that is news: to people, to who listens, and to one
 * launcher of the job, which prints it. One owner thread. */
#ifndef COLLECTOR_SINKS_LOOKOUT_H
#define COLLECTOR_SINKS_LOOKOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/host/host.h"
#include "collector/sinks/socket.h"
#include "protocol/sight.h"

/* All 0 but what its owner sets. */
struct lookout {
	const struct host *host;
	struct socket_sink *socket; /* NULL none */
	bool quiet;                 /* nothing is printed for people */
	struct sight_news news;
	bool launcher_informed; /* of what was reported last */
};

/* With each turn of the loop. */
void lookout_tick(struct lookout *lookout, uint64_t now_ns);
/* Of a job that was over before its ranks had settled. */
void lookout_report_late(struct lookout *lookout);
/* What is seen now; where no rank is any more, what was when most were. */
void lookout_sum(const struct lookout *lookout, struct sight *sight);

#endif
