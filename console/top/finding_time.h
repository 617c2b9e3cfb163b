/* SPDX-License-Identifier: MIT */
/* Times in findings: "2026-11-20T19:03:11.482Z". */
#ifndef CONSOLE_TOP_FINDING_TIME_H
#define CONSOLE_TOP_FINDING_TIME_H

#include <jansson.h>

/* Unix milliseconds; 0 when it is none. */
double finding_time_ms(const json_t *time);

#endif
