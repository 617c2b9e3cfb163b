/* SPDX-License-Identifier: MIT */
/*
 * The current state of the analysis, for display: by rank, by communicator, and by step. It is read only. The analysis
 * owns strings and pointers; they are valid until it is fed or ticked again. Times are CLOCK_MONOTONIC, in ns.
 */
#ifndef ANALYSIS_VIEW_VIEW_H
#define ANALYSIS_VIEW_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/match/account.h"
#include "analysis/analysis.h"
#include "analysis/known/cells.h"

/* What a rank does now: the first of these that applies. */
enum analysis_doing {
	ANALYSIS_DOING_UNKNOWN,
	ANALYSIS_DOING_GONE,    /* its process has ended */
	ANALYSIS_DOING_STOPPED,
	ANALYSIS_DOING_INIT,    /* is in the init of a communicator */
	/* others wait in an operation in which it has not arrived, and it does not wait in NCCL itself */
	ANALYSIS_DOING_MISSING,
	ANALYSIS_DOING_WAITS,   /* waits in an operation in which some rank has not arrived */
	ANALYSIS_DOING_INSIDE,  /* has an operation in flight in which all ranks have arrived, or may have */
	ANALYSIS_DOING_WORKS,   /* nothing is in flight */
};

struct analysis_rank_view {
	int32_t rank; /* world rank; -1 not known */
	const char *host;
	int32_t pid;
	enum analysis_life life;
	int exit_status;            /* as in wait(2); -1 not known */
	int64_t step;               /* -1 not known */
	struct account_parts parts; /* so far */
	uint64_t lost_ns;           /* time that the others waited for it, summed over them */
	uint64_t operations, clean_scans;
	uint64_t bytes; /* of the counts of its operations; INT64_MAX at most */
	struct analysis_scanning scanning; /* of its process */
	enum analysis_doing doing;
	/* The operation that it waits in or that others wait for it in; comm_name "": none. */
	char comm_name[96];
	uint8_t function;
	uint64_t sequence;
	uint64_t since_ns; /* 0 not known */
	/* Where the thread that enqueues was last seen, at seen_ns; "" and 0: not known. */
	const char *thread, *system_call, *path;
	uint64_t seen_ns;
	const struct analysis_gpu_state *gpu; /* NULL: nothing was read */
	uint32_t xid;                         /* the latest Xid; 0 none */
	/* The rank is known from its host's messages (analysis/job/job_view.h). Then wait_ns is all time inside
	 * operations, and step, transfer_ns, clean_scans and threads are not known. */
	bool by_messages;
	uint32_t compared;                    /* number of ranks compared, including itself; 0: lost_ns is not known */
	const char *why;                      /* what its threads do, in a few words, at seen_ns; "" not known */
	const char *reason;                   /* its host's recent answer, in lines; "" none */
	uint64_t heard_ns;                    /* when its host last sent something */
};
typedef void analysis_rank_visit(void *argument, const struct analysis_rank_view *rank);
/* Visits the ranks in the order in which they were first seen, which is that of the cells. */
void analysis_visit_ranks(const struct analysis *analysis, analysis_rank_visit *visit, void *argument);

struct analysis_communicator_view {
	uint64_t id;
	const char *name; /* as findings call it */
	int32_t size;     /* 0 not known */
	uint32_t member_count;
	const int32_t *ranks;   /* world ranks of the members */
	/* parallel to ranks: how many operations each has called so far; UINT64_MAX not known */
	const uint64_t *calls;
	const bool *captured;   /* parallel to ranks: some of its operations run inside CUDA graphs */
};
typedef void analysis_communicator_visit(void *argument, const struct analysis_communicator_view *communicator);
/* Visits the communicators that have not ended. */
void analysis_visit_communicators(const struct analysis *analysis, analysis_communicator_visit *visit, void *argument);

/* The framework's watchdog, counted from the earliest unfinished enqueue of any rank. */
struct analysis_deadline {
	uint64_t timeout_ms; /* 0: none is known */
	const char *from;    /* source of timeout_ms: "cmdline", "assumed" */
	uint64_t since_ns;   /* 0: nothing is in flight */
};
void analysis_tell_deadline(const struct analysis *analysis, struct analysis_deadline *deadline);

/* One operation of a rank. A time is 0 where the operation has not got there, or it is not known. */
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
/* Visits at most `most` operations of the rank, newest first. */
void analysis_visit_operations(const struct analysis *analysis, int32_t rank, uint32_t most,
			       analysis_operation_visit *visit, void *argument);

/* The latest observation of one thread of a rank's process. */
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

/* Visits the periods of 10 ms and more in which threads of a rank's process were seen not to run: the newest six of
 * each thread, newest first. A period that still lasts ends when it was last seen. */
void analysis_visit_blocked(const struct analysis *analysis, int32_t rank, analysis_thread_visit *visit,
			    void *argument);

/* From now on the analysis keeps how each rank spends its time, step by step, in at most CELLS_LIMIT bytes. A replay
 * keeps it from the start. */
void analysis_keep_cells(struct analysis *analysis);
/* The cells, by rank in the order of analysis_visit_ranks(). Empty where nothing is kept. */
const struct cells *analysis_cells(const struct analysis *analysis);

#endif
