/* SPDX-License-Identifier: MIT */
/* A process that waits in a known way and knows its own times. */
#ifndef TESTS_VICTIM_H
#define TESTS_VICTIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Written by the victim, read by the test: shared memory. Times are its CLOCK_MONOTONIC. */
struct victim_truth {
	uint64_t start_ns, end_ns;
	uint64_t run_queue_ns;     /* by its own schedstat */
	pid_t main_tid, other_tid; /* other: its second thread */
	pid_t helper_pid;          /* the process at the pipe's other end */
};

struct victim {
	pid_t pid;
	int go; /* write a byte here and it starts */
	struct victim_truth *truth;
};

/* Does this kernel take calls by the 32-bit interface? */
bool victim_has_compat(void);

/* One way to wait; folder: on the slow disk, "" without one. Runs in the victim, records its times in `truth`. */
enum { VICTIM_CROWD = 4000 /* threads of victim_crowd */ };

typedef void victim_stall(struct victim_truth *truth, const char *folder);

victim_stall victim_sleep, victim_killed, victim_lock, victim_timed_lock, victim_turns, victim_queue, victim_pipe,
    victim_interrupted, victim_drops, victim_poll, victim_compat, victim_crowd, victim_spin, victim_stop, victim_fsync,
    victim_writer;

int victim_start(struct victim *victim, victim_stall *stall, const char *folder);
void victim_go(struct victim *victim);
/* Waits for its end; returns its wait status. */
int victim_end(struct victim *victim);

#endif
