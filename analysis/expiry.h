/* SPDX-License-Identifier: MIT */
/* Jobs can split communicators by the million: those that ended on all their ranks are given back after a while. */
#ifndef ANALYSIS_EXPIRY_H
#define ANALYSIS_EXPIRY_H

#include <stdint.h>

struct analysis;

/* Ranks of a communicator are seen one after the other, and bad values are searched for in what is over. */
#define EXPIRY_KEEP_NS 60000000000u

/* Not what an open finding or a suspect is about, nor post-mortem, where boxes are read one after the other. */
void expiry_tick(struct analysis *analysis, uint64_t now_ns);

#endif
