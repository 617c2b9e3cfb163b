/* SPDX-License-Identifier: MIT */
/*
 * Communicators whose operations take longer than they used to although nobody comes late: docs/analysis.md, "Slow
 * transfers". Between hosts it is searched which link of the network makes them slow. Within one host, a link between
 * GPUs and a GPU that other kernels fill look the same, unless the times of NCCL's kernels are known.
 */
#ifndef ANALYSIS_NETWORK_TRANSFER_H
#define ANALYSIS_NETWORK_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/known/instances.h"
#include "analysis/known/kernel_start.h"
#include "analysis/explain/network.h"
#include "analysis/report/record.h"

enum {
	TRANSFER_STEPS = 64,   /* steps of history */
	TRANSFER_BEFORE = 20,  /* of them before a change, at most; at least TRANSFER_MIN */
	TRANSFER_MIN = 5,
	TRANSFER_IN_A_ROW = 3,
	TRANSFER_CLEAN = 5, /* steps in a row that close the finding */
};
/* Network detail is wanted for so long at a time, and then not for so long. */
#define TRANSFER_DETAIL_NS   30000000000u
#define TRANSFER_PAUSE_NS    120000000000u
#define TRANSFER_COST_MIN_NS 20000000u
#define TRANSFER_SHARE_MIN   0.05 /* of the step */
#define TRANSFER_FACTOR      2    /* beyond the 95th percentile of the steps before */
/* of the least cost of a late rank (suspect_limit_ns()): a warning that costs less becomes a notice again */
#define TRANSFER_LOST_NOT    0.5

/* What a communicator's operations of one step took from the last arrival on. */
struct transfer_step {
	uint64_t step, ns;
};

/* The slowest operation of one step. */
struct transfer_slowest {
	uint64_t step, ns;         /* 0 ns: none whose duration is known */
	struct instance instance;  /* without its operations */
	enum kernels_state kernels; /* what its kernels did all that time */
};

/* One communicator under observation. */
struct transfer {
	const struct communicator *communicator;
	struct transfer_step steps[TRANSFER_STEPS]; /* by step % TRANSFER_STEPS */
	/* by step % 2: of the newest step, which goes on, and of the one before */
	struct transfer_slowest slowest[2];
	uint64_t newest, judged; /* steps; 0 none */
	uint64_t usual_ns;       /* per step before the change; frozen while slow */
	uint64_t before_ns;      /* how long a step took then; 0 not known; likewise */
	uint64_t lost_ns;        /* what transfers take longer; where steps are hardly longer, only that */
	bool costs;              /* steps are longer by as much as of a late rank is reported */
	uint64_t since_step;     /* 0 = not slow */
	uint64_t decided_ns;
	uint32_t clean;
	bool open;
	uint64_t detail_ns; /* since when detail is wanted, for a time; 0 = not yet */
	struct network network;
	uint64_t asked_ns; /* about what was recorded until then */
	struct network_answer answer; /* of this slowdown; stays once it names somebody */
};

struct transfers {
	struct transfer **items; /* by index of the communicator; NULL = nothing to judge yet */
	uint32_t count;
};

/* A finished, judged instance whose place in the step is known: each once. */
void transfer_account(struct analysis *analysis, const struct instance *instance);
/* 0 or -ENOMEM. What comes while nothing is slow is not kept. */
int transfer_add_network(struct transfers *transfers, const struct communicator *communicator, uint32_t member,
			 const struct analysis_network *seen);
size_t transfer_wanted_details(const struct analysis *analysis, struct analysis_detail *details, size_t room);
/* Opens, updates and closes findings. */
void transfer_tick(struct analysis *analysis, uint64_t now_ns);
/* A record of it; slowest: of the latest judged step; took_ns: what the operations of that step take. NULL on lack of
 * memory. */
struct record *transfer_record(const struct analysis *analysis, const struct transfer *transfer,
			       const struct transfer_slowest *slowest, uint64_t took_ns, uint64_t step_ns);
/* Of a communicator that has ended; false: a finding about it is open. */
bool transfers_drop(struct transfers *transfers, uint32_t communicator);
void transfers_free(struct transfers *transfers);

#endif
