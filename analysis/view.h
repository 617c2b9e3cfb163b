/* SPDX-License-Identifier: MIT */
/*
 * What the analysis knows right now, for somebody who looks: rank by rank, communicator by communicator, and step by step.
 * Read only. Strings and pointers are the analysis's and valid until it is fed or ticked again. Times: CLOCK_MONOTONIC, ns.
 */
#ifndef ANALYSIS_VIEW_H
#define ANALYSIS_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/account.h"
#include "analysis/analysis.h"
#include "analysis/cells.h"

/* What a rank does, the first that is so. */
enum analysis_doing {
	ANALYSIS_DOING_UNKNOWN,
	ANALYSIS_DOING_GONE,    /* its process has ended */
	ANALYSIS_DOING_STOPPED,
	ANALYSIS_DOING_INIT,    /* makes a communicator */
	ANALYSIS_DOING_MISSING, /* others stand in an operation that it has not come to; it waits for nobody in NCCL itself */
	ANALYSIS_DOING_WAITS,   /* stands in an operation to which somebody has not come */
	ANALYSIS_DOING_INSIDE,  /* an operation is in flight to which all have come, or may have */
	ANALYSIS_DOING_WORKS,   /* nothing is in flight */
};

struct analysis_rank_view {
	int32_t rank; /* in the world; -1 not known */
	const char *host;
	int32_t pid;
	enum analysis_life life;
	int exit_status;            /* as in wait(2); -1 not known */
	int64_t step;               /* -1 not known */
	struct account_parts parts; /* so far */
	uint64_t lost_ns;           /* the others waited for it, summed over them */
	uint64_t operations, clean_scans;
	uint64_t bytes; /* of the counts of its operations; INT64_MAX at most */
	struct analysis_scanning scanning; /* of its process */
	enum analysis_doing doing;
	/* Of what it does: the operation that it stands in or that it is awaited in; comm_name "" none. */
	char comm_name[96];
	uint8_t function;
	uint64_t sequence;
	uint64_t since_ns; /* 0 not known */
	/* What the thread that enqueues was last seen in; "" not known, at 0. */
	const char *thread, *system_call, *path;
	uint64_t seen_ns;
	const struct analysis_gpu_state *gpu; /* NULL nothing was read */
	uint32_t xid;                         /* the latest; 0 none */
	/* Of a rank that its host tells of in messages (analysis/job/job_view.h): wait_ns is all time inside of operations, of step,
	 * transfer_ns, clean_scans and threads nothing is known. */
	bool by_messages;
	uint32_t compared;                    /* with so many ranks, itself among them; 0: lost_ns is not known */
	const char *why;                      /* what its threads do, in a few words, at seen_ns; "" not known */
	const char *reason;                   /* what its host has answered of late, lines; "" nothing */
	uint64_t heard_ns;                    /* when its host was heard last */
};
typedef void analysis_rank_visit(void *argument, const struct analysis_rank_view *rank);
/* In the order in which they were seen. Index: as in the cells. */
void analysis_visit_ranks(const struct analysis *analysis, analysis_rank_visit *visit, void *argument);

struct analysis_communicator_view {
	uint64_t id;
	const char *name; /* as findings call it */
	int32_t size;     /* 0 not known */
	uint32_t member_count;
	const int32_t *ranks;   /* of the members, in the world */
	const uint64_t *calls;  /* beside them: how many operations each has called so far; UINT64_MAX not known */
	const bool *captured;   /* beside them: some of its operations run inside CUDA graphs */
};
typedef void analysis_communicator_visit(void *argument, const struct analysis_communicator_view *communicator);
/* Those that have not ended. */
void analysis_visit_communicators(const struct analysis *analysis, analysis_communicator_visit *visit, void *argument);

/* The framework's watchdog, counted from the earliest unfinished enqueue of any rank. */
struct analysis_deadline {
	uint64_t timeout_ms; /* 0: none is known */
	const char *from;    /* where that is known from: "cmdline", "assumed" */
	uint64_t since_ns;   /* 0: nothing is in flight */
};
void analysis_tell_deadline(const struct analysis *analysis, struct analysis_deadline *deadline);

/* One operation of a rank, newest first; times 0: not so far, or not known. */
struct analysis_operation_view {
	char comm_name[96];
	uint8_t function, dtype;
	uint64_t sequence, count;
	int64_t step; /* -1 */
	uint64_t called_ns, launched_ns, arrived_ns, done_ns;
	uint32_t late_us; /* after the median of the others; 0 also when not judged */
	const char *phase;
};
typedef void analysis_operation_visit(void *argument, const struct analysis_operation_view *operation);
void analysis_visit_operations(const struct analysis *analysis, int32_t rank, uint32_t most,
			       analysis_operation_visit *visit, void *argument);

/* The newest that was seen of one thread of a rank's process. */
struct analysis_thread_view {
	uint32_t tid;
	const char *thread, *system_call, *path, *wait_channel;
	char state;
	int32_t fd;
	uint64_t start_ns, end_ns;
	uint32_t frame_count;
	const char *frames[12]; /* innermost first */
};
typedef void analysis_thread_visit(void *argument, const struct analysis_thread_view *thread);
void analysis_visit_threads(const struct analysis *analysis, int32_t rank, uint32_t most, analysis_thread_visit *visit,
			    void *argument);

/* The stretches of 10 ms and more in which threads of a rank's process did not run, as they were seen: the newest six of each
 * thread, newest first, the newest of all first. One that lasts ends when it was seen last. */
void analysis_visit_blocked(const struct analysis *analysis, int32_t rank, analysis_thread_visit *visit, void *argument);

/* From now on the time of each rank is kept step by step, in at most CELLS_LIMIT bytes. A job that is played again keeps it
 * from the start. */
void analysis_keep_cells(struct analysis *analysis);
/* By rank in the order of analysis_visit_ranks(). Empty where nothing is kept. */
const struct cells *analysis_cells(const struct analysis *analysis);

#endif
