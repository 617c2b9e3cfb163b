/* SPDX-License-Identifier: MIT */
/* Nobody is missing, and yet nothing goes on: NCCL does not get its ranks connected, or what all have begun does not
 * end. No rank is named: docs/analysis.md, "Hang and gone". */
#ifndef ANALYSIS_HANG_STANDSTILL_H
#define ANALYSIS_HANG_STANDSTILL_H

#include "analysis/analysis.h"
#include "analysis/measure/waiting.h"

/* Opens, updates and closes the finding. is_blamed: some rank is missing somewhere that waits for nobody itself, so
 * that all others may stand because of it. */
void standstill_tick(struct analysis *analysis, const struct waiting *waiting, bool is_blamed, uint64_t now_ns);

#endif
