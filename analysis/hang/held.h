/* SPDX-License-Identifier: MIT */
/* Finds a process that is blocked in a call of rankwatch's own plugin: docs/findings/blind.md. */
#ifndef ANALYSIS_HANG_HELD_H
#define ANALYSIS_HANG_HELD_H

#include <stdint.h>

#define HELD_AFTER_NS 5000000000u

struct analysis;

/* Opens and closes findings. */
void held_tick(struct analysis *analysis, uint64_t now_ns);

#endif
