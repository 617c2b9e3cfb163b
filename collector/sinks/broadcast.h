/* SPDX-License-Identifier: MIT */
/*
 * What a node of many says over NATS: what its ranks are judged by together with other hosts', findings, signs of life;
 * and the questions of who judges the job. A node that cannot be heard watches all the same. One owner thread.
 */
#ifndef COLLECTOR_SINKS_BROADCAST_H
#define COLLECTOR_SINKS_BROADCAST_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/node/node_half.h"
#include "collector/host/host.h"
#include "collector/nats/publisher.h"
#include "identity/identity.h"

struct broadcast {
	struct publisher *publisher; /* NULL: nothing is said. The rest is then not used */
	struct node_half *half;      /* NULL: no memory for it; findings are said without */
	struct host *host;
	bool quiet;
	bool complained; /* of a question that is none */
};

struct broadcast_request {
	const char *url; /* checked; NULL: nothing is said */
	const struct identity *identity;
	struct analysis *analysis; /* must outlive the broadcast, as must the host */
	struct host *host;
	bool quiet;
};

/* What is in the way is said on stderr. */
void broadcast_open(struct broadcast *broadcast, const struct broadcast_request *request);
/* From the emit of the analysis, each finding. */
void broadcast_note(struct broadcast *broadcast, const struct rw_finding *finding);
/* With each turn of the loop, behind the analysis' own tick; judged: there was one in this turn. ranks: that are seen
 * here. */
void broadcast_tick(struct broadcast *broadcast, const struct board *board, unsigned ranks, bool judged,
		    uint64_t now_ns);
/* Behind the last word of the analysis. Says that this collector ends, sends what waits within the time, and frees the
 * connection, not what the analysis knows it by. False: leave the process with _exit(2). */
bool broadcast_end(struct broadcast *broadcast, uint64_t now_ns, unsigned timeout_ms);
/* In front of the analysis. */
void broadcast_free(struct broadcast *broadcast);

#endif
