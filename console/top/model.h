/* SPDX-License-Identifier: MIT */
/*
 * What `rankwatch top` shows: the latest snapshot, the columns of cells so far and the findings, taken from the
 * collector's messages or made from boxes (docs/protocol.md). Text of somebody else is escaped on its way in. One
 * thread.
 */
#ifndef CONSOLE_TOP_MODEL_H
#define CONSOLE_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

enum {
	MODEL_TEXT = 192,
	MODEL_NAME = 64,
	MODEL_LATELY = 10, /* columns that "lately" means */
	MODEL_LINES = 64,  /* communicators with magnitudes */
	MODEL_TIMES = 16,  /* that values of one id were bad: more are not kept apart */
};
#define MODEL_CELLS_BYTES ((size_t)64 << 20) /* older columns are dropped */
#define MODEL_CALLS_UNKNOWN UINT64_MAX
#define MODEL_STANDS_MS 1000.0               /* so long is no wait of every step */

struct model_gpu {
	bool known;
	int32_t sm_mhz, sm_mhz_max, celsius, watts, watts_cap; /* -1 not known */
	double memory_used, memory_total;                       /* bytes; -1 */
	int64_t xid;                                            /* 0 none */
	/* what holds its clocks back; "" nothing that should not */
	char throttle[MODEL_NAME];
};

struct model_rank {
	int32_t rank; /* -1 not known */
	int32_t pid, exit_status;
	int64_t step; /* -1 */
	char host[MODEL_NAME];
	char doing[16], life[16];  /* docs/protocol.md */
	char operation[MODEL_TEXT]; /* "AllGather #118 on ~fsdp"; "" none */
	char thread[MODEL_TEXT];    /* "MainThread in fsync(2) on /x"; "" not known */
	double since_ms, seen_ms;   /* Unix; 0 not known */
	double own_ms, wait_ms, transfer_ms, unseen_ms, lost_ms; /* since the start */
	uint64_t operations, clean_scans;
	struct model_scanning {
		int64_t buffers, left_out; /* with a result; operations left out for the sake of cost; -1 not known */
		double host_ms, gpu_ms;    /* what it took of the job's threads and of the GPU */
	} scanning;
	/* of all nodes: with so many ranks, itself among them; 0: with all, or lost_ms is not known */
	uint32_t compared;
	struct model_gpu gpu;
};

/* One step, or more, or a second. Values by the index of the rank. */
struct model_column {
	uint64_t step, last_step; /* 0 not known */
	double from_ms, until_ms; /* Unix */
	size_t rank_count;
	struct model_cell {
		float own_ms, wait_ms, transfer_ms, unseen_ms, lost_ms;
		uint32_t bad;
	} *cells;
	size_t line_count;
	struct model_magnitude {
		float brought, result; /* the largest; 0 none is known */
		int32_t rank;          /* that brought it; -1 not known */
	} *magnitudes; /* by line of the model; NULL none */
};

struct model_member {
	int32_t rank;
	uint64_t calls; /* MODEL_CALLS_UNKNOWN */
	bool captured;
};

struct model_communicator {
	char id[24], name[MODEL_TEXT];
	int32_t size; /* 0 not known */
	struct model_member *members; /* by rank */
	size_t member_count;
	/* The oldest operation in flight; "" none. */
	char flight[MODEL_TEXT];
	int32_t *missing;
	size_t joined_count, missing_count;
	int32_t unseen; /* -1 not known */
};

/* That the collector of all nodes hears. */
struct model_host {
	char name[MODEL_NAME], state[16], level[16]; /* docs/protocol.md */
	double heard_ms; /* Unix; 0 not known */
	int64_t ranks;
};

struct model_finding {
	char id[32];
	json_t *json;
	/* Unix; first: also of the step since which it says that it is so; closed 0: it is open */
	double first_ms, closed_ms;
	uint64_t since_step;        /* 0 not known */
	int severity;               /* 0 notice, 1 warning, 2 critical */
};

struct model {
	bool dead;             /* made from boxes: there is no more to come */
	bool greeted;          /* a collector has spoken */
	/* one that hears all nodes: wait_ms is all time inside of operations, and steps are not known */
	bool all_nodes;
	bool over;             /* its last launcher has left: the job has ended */
	double gone_ms;        /* Unix: since when there is no collector; 0 there is one */
	double at_ms;          /* Unix: of the snapshot; 0 none has come */
	char job[MODEL_NAME];
	size_t jobs_here;      /* collectors on this machine that could have been meant; 0 or 1: no other */
	int64_t step; /* number of the newest; -1 not known */
	int64_t processes, ranks_total, steps, communicators_made, operations, dropped, captured; /* ranks_total -1 */
	double step_ms, first_step_ms; /* -1 */
	struct {
		double timeout_ms, deadline_ms, since_ms; /* 0 not known, none is running */
		char from[MODEL_NAME];
	} watchdog;
	char sight[MODEL_TEXT];  /* "watching 8 ranks with eBPF" */
	char level[MODEL_NAME]; /* how deep, in short: "eBPF"; "" not known */
	struct model_rank *ranks;
	size_t rank_count;
	struct model_host *hosts;
	size_t host_count;
	struct model_communicator *communicators;
	size_t communicator_count;
	struct model_column *columns; /* oldest first */
	size_t column_count, column_room, column_bytes;
	struct model_line {
		char id[24], name[MODEL_NAME];
	} lines[MODEL_LINES]; /* communicators with magnitudes, in the order in which they came */
	size_t line_count;
	bool more_lines; /* there are more */
	struct model_finding *findings; /* in order of their first revision */
	size_t finding_count, finding_room;
	json_t *snapshot; /* as it came; NULL none has */
	json_t *detail; /* the answer about one rank; NULL none */
	int32_t detail_rank;
};

void model_free(struct model *model);
/* Takes whatever a collector sends; what is not understood is ignored. now_ms: Unix. */
void model_take(struct model *model, const json_t *message, double now_ms);
/* A finding's JSON, as in docs/findings.md. */
void model_take_finding(struct model *model, const json_t *finding);
/* The collector has gone: what is shown is what it said last. */
void model_lose(struct model *model, double now_ms);

/* The newest column that is shown when this one is looked at; NULL: there are none. at: -1 the newest. */
const struct model_column *model_column(const struct model *model, long at);
/* How many others wait where this rank is late. */
double model_others(const struct model *model, size_t index);
/* Steps in a column; seconds where no step is known. */
double model_steps(const struct model_column *column);
/* Are there ranks of more than one host? */
bool model_has_hosts(const struct model *model);
/* How far a rank's buffers are scanned: "on"; "part", some are left out for the sake of cost; "none" has a result; ""
 * not known. */
const char *model_scan_state(const struct model_scanning *scanning);
/* Unix time that is looked at. */
double model_time(const struct model *model, long at);

#endif
