/* SPDX-License-Identifier: MIT */
/* The finding of docs/findings.md as the analysis would hand it over; tests change what they are about. */
#ifndef TESTS_UNIT_FINDING_FINDINGS_H
#define TESTS_UNIT_FINDING_FINDINGS_H

#include <rankwatch/finding.h>

struct rw_finding straggler(void);
/* A NaN that rank 0 brought. */
struct rw_finding born_nan(void);

/* CLOCK_REALTIME - CLOCK_MONOTONIC for which its times are 2026-11-20T19:03:… */
#define OFFSET_NS INT64_C(1795200000000000000)

#endif
