/* SPDX-License-Identifier: MIT */
/* What is in flight: the phase of each operation by everything that is known, GPU page included. */
#ifndef ANALYSIS_MEASURE_FLIGHTS_H
#define ANALYSIS_MEASURE_FLIGHTS_H

#include "analysis/analysis.h"
#include "analysis/known/instances.h"

/* OPERATION_… bits of a member's operation, completed by the last words of the GPU page. 0 = not joined. */
uint16_t flight_state(const struct instance *instance, uint32_t member);
/* In flight or lacked: neither done nor excused. */
bool flight_is_open(const struct instance *instance);
void flights_visit(const struct analysis *analysis, analysis_flight_visit *visit, void *argument);

#endif
