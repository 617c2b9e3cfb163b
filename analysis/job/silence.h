/* SPDX-License-Identifier: MIT */
/*
 * A host that sends nothing is lost, or only its collector is: what its ranks do shows in the messages of the others,
 * whose operations end with theirs. A host that has been taken for gone once and was not needs more than silence to be
 * taken for gone again. docs/messages.md, "When nothing moves". One thread, that of the job half.
 */
#ifndef ANALYSIS_JOB_SILENCE_H
#define ANALYSIS_JOB_SILENCE_H

#include "analysis/report/findings.h"
#include "analysis/job/open.h"
#include "analysis/job/world.h"

#define SILENCE_PROOF_NS                                                                                               \
	7500000000u /* what others end so long after the host was last heard, its ranks have ended with them */

/* Whether ranks of the host have gone on since it sent its last message, as others see. */
bool silence_went_on(const struct world *world, uint32_t host);
/* Closes what was told about the hosts that were taken for gone, and are heard again or whose ranks have gone on; says
 * so. */
void silence_refute(struct world *world, struct open *open, struct findings *findings, uint64_t now_ns);

#endif
