/* SPDX-License-Identifier: MIT */
/* Releases communicators that ended on all their ranks, after a while, because jobs can split communicators by the
 * million. */
#ifndef ANALYSIS_EXPIRY_H
#define ANALYSIS_EXPIRY_H

#include <stdint.h>

struct analysis;

/* How long they are kept: ranks of a communicator are seen one after the other, and bad values are searched in finished
 * work. */
#define EXPIRY_KEEP_NS 60000000000u

/* Releases none that an open finding or a suspect is about, and none post-mortem, where boxes are read one after the
 * other. */
void expiry_tick(struct analysis *analysis, uint64_t now_ns);

#endif
