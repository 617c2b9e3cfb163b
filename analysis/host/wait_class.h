/* SPDX-License-Identifier: MIT */
/* What one piece of evidence means: by kernel stack, wait channel, system call and state, in this order. */
#ifndef ANALYSIS_HOST_WAIT_CLASS_H
#define ANALYSIS_HOST_WAIT_CLASS_H

#include "analysis/host/evidence.h"
#include "analysis/host/system_calls.h"

struct wait_class {
	enum rw_cause_class class_;
	const struct system_call *system_call; /* NULL outside of one, or not known */
	bool by_waker;                         /* another thread ends it: follow */
	bool idle;                             /* it chose to sleep: no progress, no cause */
	bool gpu;                              /* it waits for its GPU: no cause by itself */
	/* it is in state D, and nothing else is known: most often, but not always, a disk */
	bool by_state;
	bool known;                            /* false: the piece says nothing */
};

struct wait_class wait_classify(const struct intern *intern, const struct evidence_piece *piece);
/* A thread of CUDA, NCCL or rankwatch, by its name: what it does is no work of the job's. */
bool wait_is_helper(const char *thread);

#endif
