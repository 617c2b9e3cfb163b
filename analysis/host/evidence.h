/* SPDX-License-Identifier: MIT */
/* Evidence of what the threads of one process waited for: the latest pieces in compact form; the oldest are
 * overwritten. */
#ifndef ANALYSIS_HOST_EVIDENCE_H
#define ANALYSIS_HOST_EVIDENCE_H

#include "analysis/analysis.h"
#include "analysis/numbers/intern.h"

enum {
	EVIDENCE_ROOM = 4096,
	EVIDENCE_FRAMES = 12,
	EVIDENCE_THREADS = 64,
};

/* How it is known that the thread was in one wait for the whole time that a sample stands for. */
enum evidence_shown {
	/* it has not run since the sample before; or the kernel has told when the wait began */
	EVIDENCE_SAME_WAIT,
	EVIDENCE_BETWEEN_SAMPLES, /* it may have run, but it was sampled at both ends */
	EVIDENCE_ASSUMED,         /* only its end was sampled */
};

struct evidence_piece {
	uint64_t start_ns, end_ns; /* a sample stands for [start, end] */
	/* part of it that the thread was runnable without a CPU; of a sample: part of [queue_from_ns, end_ns] */
	uint64_t run_queue_ns;
	uint64_t queue_from_ns;    /* samples only; start_ns or before */
	uint64_t blocked_ns;       /* part of it in one of many short waits … */
	uint64_t longest_ns;       /* … and the longest of these; ANALYSIS_WAIT_SHORT only */
	uint64_t cpu_ns;           /* part of it on a CPU; samples only */
	uint64_t device;
	/* number of the previous sample of the same thread at the same level, from 1; 0: none; samples only */
	uint64_t earlier;
	uint32_t tid, waker_tid;
	int32_t waker_pid;
	int32_t system_call, fd;
	intern_id thread, waker, path, file_system, device_name, wait_channel;
	intern_id frames[EVIDENCE_FRAMES];
	uint8_t frame_count, kind, level;
	uint8_t shown, queue_shown; /* enum evidence_shown, of the wait and of run_queue_ns; samples only */
	char state;
	bool io_wait, out_of_process_wake;
	bool cpu_known; /* it is on a CPU for no more than cpu_ns */
};

/* Cumulative counters of a thread at its previous sample. */
struct evidence_thread {
	uint32_t tid;
	uint8_t level;
	uint64_t sampled_ns, run_queue_ns, cpu_ns;
	uint64_t latest;    /* number of that sample's piece, from 1; 0: none yet */
	uint64_t called_ns; /* when it last called NCCL or came back from there, as far as is known */
};

struct evidence {
	struct evidence_piece *pieces; /* allocated with the first piece */
	uint64_t count;                /* pieces ever; piece i is at i % EVIDENCE_ROOM */
	struct evidence_thread threads[EVIDENCE_THREADS];
};

/* Adds a piece, which is copied. Returns 0 or -ENOMEM. */
int evidence_add(struct evidence *evidence, struct intern *intern, const struct analysis_wait *wait);
/* The thread called NCCL at this time (CLOCK_MONOTONIC), or returned from there: samples of it that were taken later do
 * not stand for the time before. Does nothing for a thread that was never sampled. */
void evidence_note_call(struct evidence *evidence, uint32_t tid, uint64_t called_ns);
/* Number of pieces kept; evidence_at(…, 0) is the latest. */
uint64_t evidence_kept(const struct evidence *evidence);
const struct evidence_piece *evidence_at(const struct evidence *evidence, uint64_t age);
/* The time since which no piece has been overwritten; 0 = none ever was. */
uint64_t evidence_since_ns(const struct evidence *evidence);
void evidence_free(struct evidence *evidence);

#endif
