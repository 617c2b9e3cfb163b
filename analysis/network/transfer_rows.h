/* SPDX-License-Identifier: MIT */
/* What rows of time of a job on many hosts must show of operations that take longer (analysis/job/transfers.h). Here, as
 * analysis/numbers/thresholds.c has all thresholds and knows nothing of analysis/job/. */
#ifndef ANALYSIS_NETWORK_TRANSFER_ROWS_H
#define ANALYSIS_NETWORK_TRANSFER_ROWS_H

enum {
	TRANSFERS_NEWEST = 8,  /* rows that all must show it */
	TRANSFERS_BEFORE = 24, /* rows before them, at least */
};
#define TRANSFERS_COST_NS 20000000u /* a row must take longer by, … */
#define TRANSFERS_SHARE   0.05      /* … and by this part of it, the larger of the two, … */
#define TRANSFERS_BEYOND  3.0       /* … and by so many times what the median of as many rows differed by before */

#endif
