/* SPDX-License-Identifier: MIT */
/* All are there, and NCCL does not get them connected: docs/findings.md, "Hang and gone". */
#ifndef ANALYSIS_CONNECTING_H
#define ANALYSIS_CONNECTING_H

#include "analysis/analysis.h"
#include "analysis/waiting.h"

/* Opens, updates and closes the finding. */
void connecting_tick(struct analysis *analysis, const struct waiting *waiting, uint64_t now_ns);

#endif
