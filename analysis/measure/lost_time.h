/* SPDX-License-Identifier: MIT */
/* The time that a job would gain if a rank were like the others. docs/analysis.md, "Lost time". */
#ifndef ANALYSIS_MEASURE_LOST_TIME_H
#define ANALYSIS_MEASURE_LOST_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/known/instances.h"
#include "analysis/known/job.h"

/* Replays the finished instances from first_step on without the lateness of the ranks marked in `healed` (by rank).
 * Returns by how many ns the last instance starts earlier. */
uint64_t lost_time_replay(const struct instances *instances, uint64_t first_step, const bool *healed);

#endif
