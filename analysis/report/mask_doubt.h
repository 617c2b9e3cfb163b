/* SPDX-License-Identifier: MIT */
/*
 * Findings of a job whose event mask somebody has changed, as NCCL's RAS client can: operations that began since may
 * not be recorded, of one rank from another operation on than of the next. Who seems to be missing or late may have
 * come in time.
 */
#ifndef ANALYSIS_REPORT_MASK_DOUBT_H
#define ANALYSIS_REPORT_MASK_DOUBT_H

#include <stdint.h>

#include "analysis/report/record.h"

#define MASK_LOOK_NS                                                                                                   \
	2000000000u /* the plugin looks at the mask once a second, and leaves out a look that would have to wait */

/* Makes a finding that compares ranks, and began after the change, an inconclusive notice that says so. What one rank's
 * process or GPU shows by itself is left as it is. */
void mask_doubt_apply(struct record *record, const struct job *job);

#endif
