/* SPDX-License-Identifier: MIT */
/* Finds which rank ended first when all ranks end at nearly the same time: docs/analysis.md, "Ended together". */
#ifndef ANALYSIS_HANG_ENDINGS_H
#define ANALYSIS_HANG_ENDINGS_H

#include <stdint.h>

#define ENDING_SILENCE_NS  30000000u   /* a box's heartbeat is never so late while its process has a CPU */
#define ENDING_KILLER_NS   500000000u /* between two kills, whoever kills a whole job may be without a CPU */
#define ENDING_TOGETHER_NS 1000000000u /* others that end later were there: then it is a hang's affair */
#define ENDING_SPREAD      2           /* the first must be so many times farther off than the others are apart */

struct analysis;

/* Opens at most one finding for each generation of the job, once all its processes have ended. */
void endings_tick(struct analysis *analysis, uint64_t now_ns);

#endif
