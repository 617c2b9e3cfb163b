/* SPDX-License-Identifier: MIT */
/* Whether the programs see what they are for: a child of this process waits in known ways, and what was reported of it
 * is compared with what it did. */
#ifndef EBPF_TRIAL_H
#define EBPF_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

enum { TRIAL_WHY = 256 };

struct trial {
	bool wait;      /* a wait for a lock was reported, with its system call and its time … */
	bool waker;     /* … and the thread that ended it */
	bool file;      /* a write that had to wait, and the pipe that it was to */
	double true_ms; /* the wait for the lock by the child's own clock … */
	double reported_ms; /* … and as reported, 0: it was not */
	uint64_t lost;  /* events, meanwhile */
	bool by_helper; /* the programs were rankwatchd's */
};

/* helper: as in view_open(). Loads the programs, or asks the helper, watches the child for about a tenth of a second, 3
 * s at most, and unloads them. 0; -errno with a sentence in `why` (TRIAL_WHY bytes) as view_open() when they cannot be
 * loaded, or when the child is not watched. The caller has one thread. */
int trial_run(struct trial *trial, const char *helper, char *why);

#endif
