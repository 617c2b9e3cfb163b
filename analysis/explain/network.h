/* SPDX-License-Identifier: MIT */
/*
 * What the transfers of one communicator waited for while network detail of it was recorded, and which link or host
 * that speaks of: docs/analysis.md, "Slow transfers".
 */
#ifndef ANALYSIS_EXPLAIN_NETWORK_H
#define ANALYSIS_EXPLAIN_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/known/job.h"

enum {
	NETWORK_STEPS = 3,          /* so many steps must be recorded */
	NETWORK_CHANNELS_MAX = 8192, /* of one communicator; more are left out */
};
#define NETWORK_WAITS   0.5  /* of what the transfers take longer: a link that explains it */
#define NETWORK_QUIET   0.25 /* of what the slowest link waits: one that does not */
#define NETWORK_CERTAIN 0.8  /* of what the transfers take longer */

/* One channel to or from a peer, as one member sees it; sums. */
struct network_channel {
	uint32_t member;
	int32_t peer; /* rank in the communicator */
	uint8_t number;
	bool sends;
	uint64_t gpu_ns, peer_ns, network_ns;
};

struct network {
	struct network_channel *channels; /* sorted */
	uint32_t count, room;
	uint64_t from_ns, to_ns; /* time that it tells of */
};

/* Slower transfers that are to be explained; times per step. */
struct network_question {
	const struct job *job;
	const struct communicator *communicator;
	uint64_t step_ns, took_ns, longer_ns;
};

/* Who waits for the network, in which direction most. Members of the communicator. */
struct network_answer {
	enum rw_scope scope; /* LINK between two ranks or two hosts; HOST or RANK with all others */
	enum rw_confidence confidence;
	uint32_t *members; /* ranks of the finding, malloc'ed; NULL: not known which link or host it is */
	uint32_t member_count;
	uint32_t from, to;  /* members: the slowest link */
	bool both_ways;     /* the other direction explains it, too */
	double share;       /* of what the transfers take: the slowest link's waits */
	const char *instead; /* nothing was named: what was seen, a sentence's end */
};

/* 0 or -ENOMEM. */
int network_add(struct network *network, uint32_t member, const struct analysis_network *seen);
void network_clear(struct network *network);
void network_free(struct network *network);
/* False: too little was recorded yet (or no memory). answer->members is the caller's. */
bool network_answer(const struct network *network, const struct network_question *question,
		    struct network_answer *answer);

#endif
