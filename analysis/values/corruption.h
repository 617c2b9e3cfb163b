/* SPDX-License-Identifier: MIT */
/* Buffers that must be the same bits and are not: docs/analysis.md, "Corruption". */
#ifndef ANALYSIS_VALUES_CORRUPTION_H
#define ANALYSIS_VALUES_CORRUPTION_H

#include <stdint.h>

struct analysis;
struct instance;

/* Compares what was scanned of the instance; tells. */
void corruption_judge(struct analysis *analysis, struct instance *instance, uint64_t now_ns);

#endif
