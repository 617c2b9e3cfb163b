/* SPDX-License-Identifier: MIT */
/* The internal state of a feed, shared by its live half (feed.c) and its post-mortem half (replay.c). */
#ifndef FEED_FEED_STATE_H
#define FEED_FEED_STATE_H

#include "feed/feed.h"
#include "feed/host_samples.h"
#include "feed/operation_view.h"
#include "feed/unfinished.h"

enum {
	FEED_RUN = 64,  /* slots read in one go */
	FEED_CALL = 48, /* longest name of a driver call */
};

struct feed {
	struct analysis *analysis;
	analysis_process_id id;
	struct box_reader reader;
	enum box_life life;

	/* The time up to which records are passed: live everything; in a replay only what had happened by until_ns. */
	uint64_t now_ns;
	uint64_t until_ns; /* OPERATION_TIME_MAX when live */
	uint64_t next_ns; /* time of the first event after until_ns; UINT64_MAX when there is none */
	uint64_t last_ns;

	bool announced, ended;
	bool passed_all; /* in a replay: nothing of the box is still to come */
	bool has_kernel_times; /* some operation had the times of its kernel (RW_KNOWN_STAMP) */
	bool gpu_memory_passed; /* the box's record of GPU memory was passed, once */
	bool ports_passed;      /* likewise */
	bool has_writer; /* feed_set_writer() was called */
	pid_t writer;
	uint64_t init_since_ns; /* as last passed on */
	char held_call[FEED_CALL]; /* likewise */
	const char *held_remedy;   /* the environment variables that avoid the call */
	int error; /* first -errno of the file, or -ENOMEM */
	uint64_t rejected;
	int passed; /* operations, in this poll */

	struct rw_communicator communicators[RW_BOX_COMMS]; /* as last passed on */
	struct rw_gpu_progress progress[RW_BOX_COMMS];
	uint64_t next_claim;
	uint64_t held_claim, held_since_ns; /* the claim that holds up the later ones, and since when */
	struct unfinished unfinished;
	uint64_t next_sample;
	struct host_samples samples;
	struct rw_wait waits[RW_BOX_WAITS]; /* as last passed on */
	uint64_t waits_ns;		    /* when they were */
	feed_mount *mount;
	void *mount_argument;

	uint64_t run_first; /* claim of the first slot in `run`, … */
	uint32_t run_count; /* … and how many were read there in this poll */
	struct rw_operation run[FEED_RUN];
	enum box_slot states[FEED_RUN];
};

/* Passes everything up to until_ns. The header must have been read. Returns 0 or -errno. */
int feed_advance(struct feed *feed, uint64_t now_ns, uint64_t until_ns);
/* Passes the GPU page as it is in the box. Returns 0 or -errno. */
int feed_pass_gpu_page(struct feed *feed, uint64_t now_ns);
/* Passes how the process ended, once, if it has ended. */
void feed_end(struct feed *feed);
/* Reads which driver call of the plugin the process is in. True when that has changed, also to none. */
bool feed_poll_held(struct feed *feed);
/* Operations: part of feed_advance(). */
int feed_pass_operations(struct feed *feed);

/* Passes by how much network waits have grown: part of feed_advance(). Returns 0 or -errno. */
int feed_pass_waits(struct feed *feed);

/* Takes the return value of an analysis call: a refused record is counted, and the poll reports lack of memory. */
void feed_account(struct feed *feed, int err);
/* Whether at_ns is not after until_ns. If it is after, it is noted in next_ns. */
bool feed_is_due(struct feed *feed, uint64_t at_ns);
bool feed_is_live(const struct feed *feed);
/* Whether what is missing in the box may still be written. */
bool feed_may_still_come(const struct feed *feed);

#endif
