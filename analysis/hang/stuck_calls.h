/* SPDX-License-Identifier: MIT */
/*
 * Ranks that wait in a call of NCCL in which nobody can be told to be missing: ncclCommDestroy; ncclCommGrow, whose new
 * ranks only NCCL knows; ncclCommSuspend and ncclCommResume where no rank is known to be missing; and ncclWaitSignal,
 * as nobody records who sends which signal. Who waits there is told, and nobody is named. docs/analysis.md, "Init".
 */
#ifndef ANALYSIS_HANG_STUCK_CALLS_H
#define ANALYSIS_HANG_STUCK_CALLS_H

#include <stdint.h>

/* New ranks are programs that start, and NCCL ends a communicator when its GPU has done what it was given. */
#define STUCK_CALL_AFTER_NS UINT64_C(30000000000)

struct analysis;

/* Opens and closes findings. */
void stuck_calls_tick(struct analysis *analysis, uint64_t now_ns);

#endif
