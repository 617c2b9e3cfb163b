/* SPDX-License-Identifier: MIT */
/* What every source of evidence about threads hands over: one wait at a time, valid during the call. */
#ifndef COLLECTOR_SOURCES_WAITS_SOURCE_H
#define COLLECTOR_SOURCES_WAITS_SOURCE_H

#include "analysis/analysis.h"

typedef void source_wait(void *argument, const struct analysis_wait *wait);

#endif
