/* SPDX-License-Identifier: MIT */
/*
 * How long after its stream had reached an operation a rank's NCCL kernel began, from NCCL's KernelCh events: on a GPU
 * that other kernels fill it waits for multiprocessors. docs/analysis.md, "When the kernel began".
 *
 * Times of a GPU's clock are only compared with each other, and with when the host saw the same operations end.
 */
#ifndef ANALYSIS_KNOWN_KERNEL_START_H
#define ANALYSIS_KNOWN_KERNEL_START_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/operation.h>

#include "analysis/known/instances.h"

enum {
	KERNEL_CLOCKS = 16,    /* latest operations from which a GPU's clock is known … */
	KERNEL_CLOCKS_MIN = 8, /* … at least */
	KERNEL_REFUSED = 1024, /* so many in a row that do not fit, and the clock is learned anew */
	KERNEL_DRIFT = 2000,   /* two clocks drift apart by one part in so many at most, as by adjtimex(2) */
};
#define KERNEL_KNOWN   (RW_KNOWN_STAMP | RW_KNOWN_STARTED | RW_KNOWN_DONE)
#define KERNEL_WAIT_NS 100000000u /* the times of a kernel are waited for so long after its end was seen */

/* What NCCL's kernels did of the time from the last arrival to the last end. */
enum kernels_state {
	KERNELS_UNKNOWN, /* the times of some are not known */
	KERNELS_RAN,     /* each of them ran for half of it or longer: nobody waited for a kernel to begin */
	/* one of them or more ran for less: it waited for room. No rank is late by that: it is too short, or on too
	 * many */
	KERNELS_WAITED,
};

/* The GPU's clock of one member of a communicator, and of which functions NCCL reports times. */
struct kernel_clock {
	/* when an end was seen less the GPU's time of it, modulo 2^64; item i is at i % KERNEL_CLOCKS */
	uint64_t behind_ns[KERNEL_CLOCKS];
	uint32_t count;                    /* ever */
	uint32_t refused;                  /* times in a row that do not fit this clock */
	uint64_t latest_ns;                /* when the end of the latest of them was seen */
	uint32_t functions;                /* bit per function of its latest operation that had times */
};

/* Takes a slot in which KERNEL_KNOWN is known, and so may be its kernel's times: sets kernel_us, begun_us and
 * OPERATION_KERNEL. Without memory they stay unknown. */
void kernel_start_note(struct member *member, struct operation *operation, const struct rw_operation *slot);
/* When the kernel of a replay began and ended, by the host's clock, from the GPU's times and when NCCL reported them.
 * False: not known, the first of a member are what its GPU's clock is learned from. */
bool kernel_start_place_replay(struct member *member, struct operation *operation, const struct rw_operation *slot);
/* Whether times of some rank's kernel are still to come, although all ranks have ended the instance. */
bool kernel_start_is_awaited(const struct instance *instance, uint64_t now_ns);
/* Moves the arrivals of a complete instance to where the kernels began, and sets queued_us. Call it once for each
 * instance, before lateness_judge(). It changes nothing unless the times of all its kernels are known. */
void kernel_start_apply(struct instance *instance);
/* When its kernel had begun, as far as that is known, or else when its stream had come to it. */
static inline uint64_t kernel_start_ns(const struct operation *operation)
{
	return operation->arrival_ns + (uint64_t)operation->begun_us * 1000;
}
/* When the process's GPU was in the first of those operations that were called behind this one: from then on it waited
 * there, whatever the kernel of this one waited for. UINT64_MAX: in none that is known. */
uint64_t kernel_start_beside_ns(const struct process *process, const struct operation *operation);
/* Of an operation that NCCL reports kernels of on every rank, the ranks whose kernel has not begun, into `lacking`,
 * which has room for all members. How many; -1: NCCL does not report them of every rank. */
int kernel_start_lacking(const struct instance *instance, uint32_t *lacking);
/* Of a complete instance that took so long from its last arrival on. */
enum kernels_state kernel_start_state(const struct instance *instance, uint64_t took_ns);

#endif
